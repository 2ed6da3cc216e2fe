"""Every page, opened from a file and over http, with every other host out of reach."""

from __future__ import annotations

from pathlib import Path

import pytest
from chrome import PHONE, WIDE, Browser, Page
from measures import CUT, FORMULAS, LINES, PLAIN, SCHEMES, put_on, violations
from notebooks import chapters, notebook_path
from paths import config, pages
from screens import assert_stands_still_and_fits
from test_explorables import (
    WITH_EXPLORABLES,
    assert_answers_the_finger,
    assert_answers_the_mouse_and_the_keyboard,
    assert_pictures_stand_in,
    expected,
)
from test_light_pages import assert_is_light

CHAPTERS = [f"book/{name}" for name in chapters() if notebook_path(name).exists()]
LIVELY = [f"book/{name}" for name in WITH_EXPLORABLES]
# One page of each kind, and the chapter with the most explorables. Those of the reference are all of one kind.
KINDS = [max(LIVELY, key=lambda name: expected(name.removeprefix("book/"))), "book/navigation", "book/notation",
         "book/atlas", "book/api/problem"]  # fmt: skip
ON_A_DESK = [name for name in pages() if "/api/" not in name or name in KINDS]

# Asked once all have come, those of the other theme and those far below, too.
IMAGES = """Promise.all([...document.images].map((e) => {
  e.loading = 'eager';
  return e.complete || new Promise((done) => { e.onload = e.onerror = done; });
})).then(() => [...document.querySelectorAll('.bd-article img')].map(e => ({
  source: e.currentSrc.slice(0, 120), alt: e.getAttribute('alt') || '', loaded: e.complete && e.naturalWidth > 0,
})))"""

# What moves by itself on the page of a reader who wants no motion.
MOVING = """document.getAnimations().map(e => `${e.transitionProperty ?? e.animationName} ${
  e.effect.target.outerHTML.slice(0, 80)}`)"""

FORMULAS_CUT = 2  # on a page of a phone: definitions by cases do not break

# What sticks out to the right although no ancestor scrolls or clips it (a drawing clips its own content). Of formulas
# the unbreakable parts are measured; what is inside them, most elements of a page, is not. (A phone's innerWidth grows
# with what sticks out, that of the root does not.)
TOO_WIDE = """(() => {
  const limit = document.documentElement.clientWidth;
  const boxed = e => { for (let p = e.parentElement; p && p !== document.body; p = p.parentElement)
    if (getComputedStyle(p).overflowX !== 'visible') return true; return false; };
  const part = e => e.parentElement.matches('.katex-base, .katex-mathml'), all = [];
  const walk = document.createTreeWalker(document.querySelector('.bd-article'), NodeFilter.SHOW_ELEMENT,
    e => part(e) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT);
  while (walk.nextNode()) all.push(walk.currentNode);
  const culprits = all
    .filter(e => e.getBoundingClientRect().right > limit + 1 && e.getBoundingClientRect().width > 0)
    .filter(e => !e.ownerSVGElement && !boxed(e));
  return {width: document.documentElement.scrollWidth, limit,
    culprits: culprits.slice(0, 5).map(e => e.outerHTML.slice(0, 160))};
})()"""

# Neighbouring blocks of the text whose boxes cover one another by more than a few pixels.
OVERLAPS = """(() => {
  const found = [];
  for (const section of document.querySelectorAll('.bd-article section, .bd-article .cell_output')) {
    const blocks = [...section.children].filter(e => {
      const style = getComputedStyle(e), box = e.getBoundingClientRect();
      return style.float === 'none' && style.position === 'static' && box.height > 1 && box.width > 1;
    });
    for (let i = 1; i < blocks.length; i++) {
      const above = blocks[i - 1].getBoundingClientRect(), below = blocks[i].getBoundingClientRect();
      if (above.bottom > below.top + 4 && above.top < below.bottom - 4 && above.right > below.left + 4)
        found.push(blocks[i].outerHTML.slice(0, 160));
    }
  }
  return found;
})()"""


def assert_needs_nothing_but_itself(page: Page, base: str) -> None:
    foreign = [url for url in page.requests() if not url.startswith(base)]
    assert len(page.requests()) > 5, "the record of requests is empty: the check would prove nothing"
    assert foreign == []
    assert page.failures() == []
    assert page.complaints() == []


def assert_formulas_are_drawn(page: Page) -> int:
    """How many there are."""
    formulas = page.evaluate(FORMULAS)
    assert (formulas["wrong"], formulas["unset"], formulas["raw"]) == ([], [], [])
    return int(formulas["sources"])


def assert_lines_are_whole(page: Page) -> None:
    """Formulas in the text break with it; what cannot break scrolls, and says so."""
    lines = page.evaluate(LINES)
    assert (lines["wide"], lines["boxes"], lines["orphans"]) == ([], [], [])
    cut = page.evaluate(CUT)
    assert cut["headless"] == [], "the beginning of a formula is out of sight"
    assert cut["silent"] == [], "wider than the screen, and nothing tells that there is more"
    assert len(cut["formulas"]) <= FORMULAS_CUT, cut["formulas"]


def assert_nothing_overlaps(page: Page) -> None:
    assert page.evaluate("document.querySelectorAll('.bd-article section > *').length") > 0
    assert page.evaluate(OVERLAPS) == []


def assert_nothing_sticks_out(page: Page) -> None:
    layout = page.evaluate(TOO_WIDE)
    assert layout["width"] <= layout["limit"], layout
    assert layout["culprits"] == []


# To load a page costs seconds, to look at it does not: each is opened twice, and looked at from all sides. Its
# handles are moved after what is asked of the page as it came; axe and the widths then meet what was moved.


@pytest.mark.parametrize("base", ["file"], indirect=True)
@pytest.mark.parametrize("name", ON_A_DESK)
def test_a_page_from_a_file_on_a_desk(browser: Browser, base: str, html: Path, name: str) -> None:
    with browser.page(WIDE) as page:
        page.open(f"{base}/{name}.html")
        assert_stands_still_and_fits(page, phone=False)
        if name in CHAPTERS:
            assert_is_light(page, html)
        images = page.evaluate(IMAGES)
        assert_needs_nothing_but_itself(page, base)
        assert_nothing_overlaps(page)
        for image in images:
            assert image["loaded"], image
            assert len(image["alt"].split()) >= 3, f"say what a blind reader must know: {image}"
        if name in ("book/navigation", "book/momentum", "book/networks"):
            assert page.evaluate("document.querySelectorAll('.bd-article figure img').length") > 0
        if name in LIVELY:
            assert_answers_the_mouse_and_the_keyboard(page, name.removeprefix("book/"))
            assert page.complaints() == []
        assert page.evaluate(PLAIN) == []
        if name in KINDS:  # at twice the size half as many pixels are left; phones, which have fewer, see every page
            page.resize(WIDE[0] // 2, WIDE[1] // 2)
            assert_nothing_sticks_out(page)
            assert_nothing_overlaps(page)
            page.resize(*WIDE)
        assert violations(page) == {"light": [], "dark": []}


@pytest.mark.parametrize("base", ["file"], indirect=True)
def test_a_table_of_many_columns_is_read_without_scrolling_on_a_phone(browser: Browser, base: str) -> None:
    with browser.page(PHONE) as page:
        page.open(f"{base}/book/choose.html")
        tables = "[...document.querySelectorAll('.bd-article table')].map(e => e.scrollWidth - e.clientWidth)"
        assert page.evaluate(tables) == [0, 0, 0]
        page.open(f"{base}/book/derive.html")  # of published optimizers, by its cell's tag
        listed = tables.replace(".bd-article", ".bd-article .tag_listed")
        assert page.evaluate(listed) == [0]
        page.open(f"{base}/book/matrices.html")  # of seven columns, whose names the cells say
        cells = "document.querySelectorAll('.bd-article table.table:has(th:nth-child(7)) td:nth-child(3)')"
        named = page.evaluate(f"[...{cells}].map((cell) => getComputedStyle(cell, '::before').content)")
        assert len(named) > 10 and all("test loss" in name for name in named)


@pytest.mark.parametrize("base", ["file"], indirect=True)
def test_code_that_late_letters_make_too_wide_is_marked(browser: Browser, base: str) -> None:
    with browser.page(PHONE) as page:
        page.open(f"{base}/book/choose.html")
        box = "document.querySelector('.bd-article h1').nextElementSibling"
        page.evaluate(f"{box}.insertAdjacentHTML('beforebegin', '<pre>short</pre>')")
        page.evaluate("document.fonts.dispatchEvent(new Event('loadingdone'))")
        assert page.evaluate("document.querySelector('pre').dataset.more") is None
        page.evaluate("document.querySelector('pre').textContent = 'wide '.repeat(99)")
        page.evaluate("document.fonts.dispatchEvent(new Event('loadingdone'))")
        assert page.evaluate("document.querySelector('pre').dataset.more") == "right"


@pytest.mark.parametrize("base", ["file"], indirect=True)
def test_a_display_is_shown_when_it_is_read_to_its_end(browser: Browser, base: str) -> None:
    with browser.page(PHONE) as page:
        page.open(f"{base}/book/proofs.html")
        shown = "getComputedStyle(document.querySelector('div.math')).visibility"
        assert page.evaluate(shown) == "visible"
        page.evaluate("document.querySelector('div.math').lastElementChild.remove()")
        assert page.evaluate(shown) == "hidden"


@pytest.mark.parametrize("base", ["http"], indirect=True)
@pytest.mark.parametrize("name", pages())
def test_a_page_over_http_on_a_phone_by_day_and_by_night(browser: Browser, base: str, name: str) -> None:
    with browser.page(PHONE, touch=True) as page:
        page.open(f"{base}/{name}.html")
        assert_stands_still_and_fits(page, phone=True)
        assert_needs_nothing_but_itself(page, base)
        formulas = assert_formulas_are_drawn(page)
        assert formulas > 5 or name not in ("book/navigation", "book/momentum", "book/networks")
        assert_nothing_overlaps(page)
        assert page.evaluate("window.innerWidth") == PHONE[0]
        assert_lines_are_whole(page)
        if name in LIVELY:
            assert_answers_the_finger(page, name.removeprefix("book/"))
            assert page.complaints() == []
        for scheme in SCHEMES:
            put_on(page, scheme)
            assert page.evaluate(MOVING) == []
            assert_nothing_sticks_out(page)


@pytest.mark.parametrize("name", LIVELY)
def test_each_explorable_has_a_picture_beside_it(html: Path, name: str) -> None:
    twins = (html / f"{name}.html").read_text("utf-8").split('class="lossnav-fallback"')[1:]
    assert len(twins) == expected(name.removeprefix("book/"))
    assert all("<svg" in twin or "<img" in twin for twin in twins)


# Formulas are drawn when a page is built, and only what scripts bring to life looks otherwise without them.
@pytest.mark.parametrize("base", ["file"], indirect=True)
@pytest.mark.parametrize("name", KINDS)
def test_without_scripts_formulas_are_drawn_and_nothing_overlaps(browser: Browser, base: str, name: str) -> None:
    with browser.page(WIDE, scripts=False) as page:
        page.open(f"{base}/{name}.html")
        assert_formulas_are_drawn(page)
        if name in LIVELY:
            assert_pictures_stand_in(page, name.removeprefix("book/"))
        for width, height in (WIDE, PHONE):
            page.tab.set_viewport_size({"width": width, "height": height})
            assert page.evaluate("window.innerWidth") == width
            assert_nothing_overlaps(page)


@pytest.mark.parametrize("base", ["http"], indirect=True)
def test_a_page_runs_no_script_but_its_own_and_asks_nobody_else(browser: Browser, html: Path, base: str) -> None:
    moved = config()["sphinx"]["config"]["moved_pages"]
    names = [*pages(), *moved, "search", "genindex", "py-modindex", "404"]  # beside them may lie what is being printed
    for name in names:
        text = (html / f"{name}.html").read_text("utf-8")
        assert text.count('http-equiv="Content-Security-Policy"') == 1, name
    slipped_in = "Object.assign(document.createElement('script'), {textContent: 'window.slipped = true'})"
    elsewhere = "fetch('http://127.0.0.1:9/').then(() => 'answered', (error) => String(error))"
    with browser.page(WIDE) as page:
        page.open(f"{base}/book/momentum.html")
        assert page.complaints() == []
        page.evaluate(f"document.body.append({slipped_in})")
        page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x: onerror=\"window.slipped = true\">')")
        page.evaluate(elsewhere)
        page.wait_for_frames()
        assert page.evaluate("window.slipped") is None
        assert len([complaint for complaint in page.complaints() if "Content Security Policy" in complaint]) >= 3


@pytest.mark.parametrize("base", ["file"], indirect=True)
def test_one_switch_shows_the_code_that_is_furniture(browser: Browser, base: str) -> None:
    shown = "[...document.querySelectorAll('.ln-furniture')].filter((part) => part.offsetHeight > 0).length"
    switch = "document.querySelector('.btn-all-code')"
    with browser.page(PHONE) as page:
        page.open(f"{base}/book/momentum.html")
        assert page.evaluate("document.querySelectorAll('details.hide').length") == 0
        assert page.evaluate(shown) == 0 and page.evaluate(f"{switch}.ariaPressed") == "false"
        assert page.evaluate("document.querySelectorAll('.cell_input pre').length") > page.evaluate(
            "document.querySelectorAll('.ln-furniture pre').length"
        )  # the derivation stays
        page.evaluate(f"{switch}.click()")
        assert page.evaluate(shown) > 10 and page.evaluate(f"{switch}.ariaPressed") == "true"
        assert page.evaluate("innerWidth") == PHONE[0]  # the header has room for it


@pytest.mark.parametrize("base", ["file"], indirect=True)
def test_buttons_of_a_header_that_is_half_there_do_not_move_when_the_rest_comes(browser: Browser, base: str) -> None:
    place = "document.querySelector('.header-article-items__end .btn').getBoundingClientRect().x"
    later = "document.querySelectorAll('.article-header-buttons > :not(:first-child)')"
    with browser.page(PHONE) as page:
        page.open(f"{base}/book/momentum.html")
        position = page.evaluate(place)
        page.evaluate(f"{later}.forEach((button) => {{ button.style.display = 'none'; }})")
        assert page.evaluate(f"{later}.length") > 2 and page.evaluate(place) == position


@pytest.mark.parametrize("base", ["file"], indirect=True)
def test_root_leads_to_the_landing_page(browser: Browser, base: str) -> None:
    with browser.page() as page:
        page.open(f"{base}/index.html")
        page.wait_until("location.pathname.endsWith('/book/index.html')")


@pytest.mark.parametrize("base", ["file"], indirect=True)
def test_a_page_has_its_theme_before_the_script_that_changes_it(browser: Browser, base: str) -> None:
    with browser.page(dark=True) as page:
        page.tab.route("**/pydata-sphinx-theme.js*", lambda route: route.abort())
        page.open(f"{base}/book/references.html")
        page.tab.unroute_all()
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"


@pytest.mark.parametrize("base", ["file"], indirect=True)
@pytest.mark.parametrize("size", [WIDE, PHONE])
def test_a_heading_is_larger_than_those_under_it(browser: Browser, base: str, size: tuple[int, int]) -> None:
    measured = "parseFloat(getComputedStyle(document.querySelector(`.bd-article ${name}`)).fontSize)"
    with browser.page(size) as page:
        page.open(f"{base}/book/drift.html")
        sizes = page.evaluate(f"['h1', 'h2', 'h3'].map((name) => {measured})")
    assert sizes == sorted(set(sizes), reverse=True)
