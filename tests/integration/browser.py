"""A real browser for tests: Debian's Chromium, driven by Playwright, which downloads nothing."""

import contextlib
import os
import shutil

import pytest

SKIP = "TRELLEX_NO_BROWSER"  # set to 1 where there is no browser: its tests are skipped
NAMES = ("chromium", "chromium-browser", "google-chrome")


def chromium():
    """The path of the browser; without one tests fail rather than pass unseen."""
    if os.environ.get(SKIP) == "1":
        pytest.skip(f"{SKIP}=1")
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.fail(f"no browser: `make chromium` installs one; {SKIP}=1 skips its tests")
    return found


@contextlib.contextmanager
def browser():
    path = chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        try:
            yield running
        finally:
            running.close()


@contextlib.contextmanager
def opened(running, url, expected=(), **options):
    """A page of its own; nothing may go wrong on it but what is expected, by the words of a message."""
    context = running.new_context(**{"viewport": {"width": 1200, "height": 800}} | options)
    page, problems = context.new_page(), []
    page.on("console", lambda message: message.type in ("error", "warning") and problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("requestfailed", lambda request: problems.append(f"{request.url}: {request.failure}"))
    page.set_default_timeout(15_000)
    page.goto(url)
    try:
        yield page
    finally:
        context.close()
    unexpected = [each for each in problems if not any(words in each for words in (*expected, "net::ERR_ABORTED"))]
    assert unexpected == [], unexpected
