// What the compiler (tsconfig.json) does not see: names that hide others, and code that does nothing or not what it says.
const rules = [
  "array-callback-return", "constructor-super", "eqeqeq", "for-direction", "getter-return", "no-async-promise-executor",
  "no-case-declarations", "no-class-assign", "no-compare-neg-zero", "no-cond-assign", "no-const-assign",
  "no-constant-binary-expression", "no-constant-condition", "no-control-regex", "no-debugger", "no-delete-var",
  "no-dupe-args", "no-dupe-class-members", "no-dupe-else-if", "no-dupe-keys", "no-duplicate-case", "no-else-return",
  "no-empty", "no-empty-character-class", "no-empty-pattern", "no-eval", "no-ex-assign", "no-extra-boolean-cast",
  "no-fallthrough", "no-func-assign", "no-global-assign", "no-implicit-globals", "no-import-assign", "no-inner-declarations",
  "no-irregular-whitespace", "no-loss-of-precision", "no-misleading-character-class", "no-new-native-nonconstructor",
  "no-obj-calls", "no-prototype-builtins", "no-redeclare", "no-regex-spaces", "no-self-assign", "no-self-compare",
  "no-shadow", "no-shadow-restricted-names", "no-sparse-arrays", "no-this-before-super", "no-throw-literal",
  "no-unexpected-multiline", "no-unreachable", "no-unreachable-loop", "no-unsafe-finally", "no-unsafe-negation",
  "no-unsafe-optional-chaining", "no-unused-expressions", "no-unused-labels", "no-useless-backreference", "no-useless-catch",
  "no-useless-computed-key", "no-useless-concat", "no-useless-escape", "no-useless-rename", "no-useless-return", "no-var",
  "object-shorthand", "prefer-const", "require-yield", "use-isnan", "valid-typeof",
];

export default [
  { ignores: ["**/bundle.js"] },
  {
    files: ["**/*.js", "**/*.mjs"],
    languageOptions: { ecmaVersion: "latest", sourceType: "module" },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      ...Object.fromEntries(rules.map((rule) => [rule, "error"])),
      // the compiler sees the others; an argument may be there for those after it
      "no-unused-vars": ["error", { args: "after-used", argsIgnorePattern: "^_" }],
    },
  },
];
