"""The explorable of the chapter *Learning as navigation*: stay in the shallow well, or cross into the deep one?"""
