"""The dashboard in a real browser: what a person sees, does and is told. Pictures stay in build/serve/screenshots."""
import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from playwright.sync_api import sync_playwright

from server import PROGRAM, SOURCE, Server, environment

CHROMIUM = os.environ.get("PLINTH_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
PICTURES = os.path.join(SOURCE, "build", "serve", "screenshots")
HOSTILE = '<img src=x onerror="window.hacked=1">'
SIZES = {"desktop": {"viewport": {"width": 1440, "height": 900}},
         "phone": {"viewport": {"width": 360, "height": 740}, "is_mobile": True, "has_touch": True, "device_scale_factor": 2}}

# Text whose contrast with what lies behind it is below 4.5 (WCAG 2.1, 1.4.3).
CONTRAST = """() => {
  const parts = (c) => c.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((s, v, i) => s + v * [.2126, .7152, .0722][i], 0);
  const behind = (e) => { for (; e; e = e.parentElement) { const c = parts(getComputedStyle(e).backgroundColor);
    if (c.length === 3 || c[3] === 1) return c; } return [255, 255, 255]; };
  const bad = [];
  for (const e of document.querySelectorAll('body *')) {
    if (e.disabled || !e.checkVisibility({visibilityProperty: true})) continue;
    if (!Array.from(e.childNodes).some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
    const [a, b] = [light(parts(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
    if ((a + .05) / (b + .05) < 4.5) bad.push(e.className + ' ' + e.textContent.slice(0, 40) + ' ' + ((a + .05) / (b + .05)).toFixed(2));
  }
  return bad;
}"""
# How much of the chart is drawn in: pixels that are not transparent.
INKED = """() => Array.from(document.querySelectorAll('#chart canvas')).reduce((sum, c) => {
  const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
  let n = 0;
  for (let i = 3; i < d.length; i += 4) if (d[i]) ++n;
  return sum + n;
}, 0)"""


def wait(page, expression, seconds=10):
    """Until it is true. (wait_for_function needs eval, which the page's policy forbids.)"""
    until = time.monotonic() + seconds
    while not page.evaluate(expression):
        if time.monotonic() > until:
            raise AssertionError(f"not within {seconds} s: {expression}")
        page.wait_for_timeout(50)


def values(count, phase, seed=1):
    noise = random.Random(seed)
    return [round(20 + 8 * math.sin((k + phase) / 12 * math.pi) + noise.gauss(0, 1), 3) for k in range(count)]


def alarms():
    """What an earlier run of the service left, as its state folder holds it."""
    now = time.time_ns()

    def one(number, priority, item, message, **more):
        alarm = {"id": number, "raised_ns": now - number * 600 * 10**9, "last_ns": now - 60 * 10**9, "count": 1,
                 "ended_ns": 0, "acknowledged_ns": 0, "by": "", "note": "", "source": "detect", "kind": "point",
                 "model": "plinth-ts-0", "item": item, "target": "flow", "priority": priority, "message": message,
                 "score": 4.2}
        alarm.update(more)
        return alarm

    return {"format": "plinth-alarms-1", "next_id": 5, "alarms": [
        one(1, "low", "pump-3", "the level moved by 3.1 standard deviations over two days", count=5,
            acknowledged_ns=now - 10**11, by="Li Wei", note="sensor recalibrated", ended_ns=now - 5 * 10**10),
        one(2, "medium", "pump-1", "14.2 lies above the upper bound 11.8", count=3),
        one(3, "high", "boiler " + HOSTILE, "36 values look like nothing before " + HOSTILE),
        one(4, "low", "泵站-二号", "flat line for 3 hours")]}


class Page:
    """One window of the browser, with what it complained about and whom it asked."""

    def __init__(self, browser, server, size="desktop", language="en", **options):
        self.context = browser.new_context(**{**SIZES[size], **options})
        self.page = self.context.new_page()
        self.complaints, self.hosts = [], set()
        self.page.on("console", lambda m: m.type in ("error", "warning") and self.complaints.append(m.text))
        self.page.on("pageerror", lambda e: self.complaints.append(str(e)))
        self.page.on("request", lambda r: self.hosts.add(r.url.split("/")[2]))
        self.page.goto(f"http://127.0.0.1:{server.port}/?lang={language}")

    def __enter__(self):
        return self.page, self

    def __exit__(self, *_):
        self.context.close()


class Dashboard(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.makedirs(PICTURES, exist_ok=True)
        cls.playwright = sync_playwright().start()
        cls.browser = cls.playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.playwright.stop()

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        with open(os.path.join(self.folder.name, "alarms.json"), "w") as file:
            json.dump(alarms(), file)
        self.server = Server(["--service-state-folder", self.folder.name])

    def tearDown(self):
        self.server.__exit__()
        self.folder.cleanup()

    def open(self, *words, **options):
        return Page(self.browser, self.server, *words, **options)

    def forecast(self, items, count, **more):
        body = {"horizon": 24, "freq": "1h", "series": {
            "y": sum((values(400, 3 * n, n)[:count] for n in range(len(items))), []), "sizes": [count] * len(items),
            "items": items, "start": "2026-11-14T00:00:00Z"}}
        body.update(more)
        status, _, answer = self.server.ask("POST", "/v1/forecast", body)
        self.assertEqual(status, 200, answer)

    def shoot(self, page, name, whole=True):
        page.screenshot(path=os.path.join(PICTURES, name + ".png"), full_page=whole)

    def fill(self):
        items = ["pump-1", "pump-2", "boiler " + HOSTILE, "泵站-二号", "compressor-A"]
        for count in (280, 304, 322, 340):
            self.forecast(items, count)
        for _ in range(30):
            self.server.ask("POST", "/v1/forecast", {"horizon": 8, "series": {"y": values(64, 0), "items": ["rows"], "sizes": [64]}})

    def test_looks_right_in_both_languages_on_both_sizes(self):
        self.fill()
        words = {"en": ["Unproven models are being served", "Acknowledge", "Recent forecasts", "To mend it, run"],
                 "zh": ["正在使用未证明的模型", "确认", "最近的预测", "补救命令"]}
        for size in SIZES:
            for language, wanted in words.items():
                with self.subTest(size=size, language=language), self.open(size, language) as (page, seen):
                    page.wait_for_selector("#series button")
                    page.click("#series button:has-text('pump-1')")
                    wait(page, "document.querySelector('#series-facts').textContent.length > 20")
                    page.wait_for_timeout(600)
                    self.shoot(page, f"{size}-{language}")
                    text = page.inner_text("body")
                    for word in wanted:
                        self.assertIn(word, text)
                    self.assertEqual(page.evaluate("document.documentElement.lang"), {"en": "en", "zh": "zh-CN"}[language])
                    self.assertEqual(page.evaluate("Array.from(document.querySelectorAll('[data-say]')).filter((e) => !e.textContent).length"), 0)
                    # Nothing reaches beyond the edge of the screen.
                    self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), SIZES[size]["viewport"]["width"])
                    self.assertEqual(page.evaluate(CONTRAST), [])
                    self.assertEqual(seen.complaints, [])
                    self.assertEqual(seen.hosts, {f"127.0.0.1:{self.server.port}"})

    def test_is_readable_in_the_dark(self):
        self.fill()
        with self.open(color_scheme="dark") as (page, seen):
            page.wait_for_selector("#series button")
            page.wait_for_timeout(600)
            self.shoot(page, "desktop-dark")
            self.assertEqual(page.evaluate(CONTRAST), [])
            self.assertEqual(seen.complaints, [])

    def test_draws_forecasts_as_they_come(self):
        with self.open() as (page, seen):
            page.wait_for_selector("#forecasts-none:visible")
            self.assertIn("curl", page.inner_text("#example"))
            self.forecast(["pump-1"], 200)
            page.wait_for_selector("#chart canvas", timeout=5000)
            page.wait_for_timeout(300)
            inked = page.evaluate(INKED)
            self.assertGreater(inked, 2000)
            self.assertIn("no truth yet", page.inner_text("#series-facts"))
            self.forecast(["pump-1"], 212)
            wait(page, "document.querySelector('#series-facts').textContent.includes('of 12')", 5)
            self.assertGreater(page.evaluate(INKED), 2000)
            page.locator("#chart").scroll_into_view_if_needed()
            box = page.locator("#chart").bounding_box()
            page.mouse.move(box["x"] + box["width"] * 0.97, box["y"] + box["height"] / 2)
            wait(page, "document.querySelector('#readout').textContent.includes('80 % band')")
            page.click("#numbers summary")
            self.assertEqual(page.locator("#numbers tbody tr").count(), 24)
            self.assertEqual(page.locator("#numbers tbody tr td").first.inner_text(), "2026-11-22 20:00")
            self.assertEqual(seen.complaints, [])

    def test_names_are_text(self):
        self.forecast([HOSTILE, "</script><script>window.hacked=1</script>"], 50)
        with self.open() as (page, seen):
            page.wait_for_selector("#series button")
            page.locator("#series button").first.click()
            page.wait_for_timeout(500)
            self.assertIn(HOSTILE, page.inner_text("#series"))
            self.assertIn(HOSTILE, page.inner_text("#alarms"))
            self.assertEqual(page.locator("img").count(), 0)
            self.assertIsNone(page.evaluate("window.hacked || null"))
            self.assertEqual(seen.complaints, [])

    def test_a_person_acknowledges_an_alarm(self):
        with self.open() as (page, seen), self.open("phone", "zh") as (other, _):
            page.wait_for_selector("#alarms button")
            self.assertIn("3 alarms wait", page.inner_text("#state"))
            self.assertIn("▲", page.title())
            # What is most urgent comes first.
            self.assertIn("1 High", page.locator("#alarms tbody tr").first.inner_text())
            page.locator("#alarms button").first.click()
            self.assertIn("boiler", page.inner_text("#act-what"))
            page.click("#act-yes")
            self.assertEqual(page.inner_text("#act-wrong"), "Say who you are.")
            page.fill("#by", "Zhang Min")
            page.fill("#note", "valve checked <b>twice</b>")
            self.shoot(page, "acknowledge", whole=False)
            page.click("#act-yes")
            wait(page, "document.querySelector('#state').textContent.includes('2 alarms wait')")
            self.assertIn("valve checked <b>twice</b>", page.inner_text("#alarms"))
            wait(other, "document.querySelector('#state').textContent.includes('2 条')", 5)
            # By keyboard alone.
            page.locator("#alarms button").first.focus()
            page.keyboard.press("Enter")
            page.wait_for_selector("#act[open]")
            self.assertEqual(page.evaluate("document.activeElement.id"), "note")
            page.keyboard.press("Escape")
            page.wait_for_selector("#act[open]", state="detached")
            self.assertEqual(seen.complaints, [])
        listed = self.server.ask("GET", "/v1/alarms")[2]
        self.assertEqual(listed["unacknowledged"], 2)
        taken = next(a for a in listed["alarms"] if a["id"] == 3)
        self.assertEqual((taken["by"], taken["note"]), ("Zhang Min", "valve checked <b>twice</b>"))
        with open(os.path.join(self.folder.name, "alarms.json")) as file:
            self.assertIn("Zhang Min", file.read())

    def test_a_person_shelves_an_alarm_and_it_comes_back(self):
        with self.open() as (page, seen), self.open("phone", "zh") as (other, _):
            page.wait_for_selector("#alarms button[data-act=shelve]")
            page.locator("#alarms button[data-act=shelve]").first.click()
            self.assertIn("boiler", page.inner_text("#act-what"))
            page.fill("#by", "Zhang Min")
            page.click("#act-yes")
            self.assertEqual(page.inner_text("#act-wrong"), "Say why nobody needs to be called.")
            page.fill("#note", "burner under maintenance <b>")
            page.fill("#minutes", "0")
            page.click("#act-yes")
            self.assertEqual(page.inner_text("#act-wrong"), "Give whole minutes from 1 to 10080.")
            page.fill("#minutes", "90")
            self.shoot(page, "shelve", whole=False)
            page.click("#act-yes")
            wait(page, "document.querySelector('#state').textContent.includes('2 alarms wait')")
            text = page.inner_text("#alarms")
            self.assertIn("by Zhang Min", text)
            self.assertIn("burner under maintenance <b>", text)
            self.assertIn("Shelved: 1.", page.inner_text("#alarms-hint"))
            wait(other, "document.querySelector('#alarms').textContent.includes('搁置至')", 5)
            self.assertEqual(page.evaluate(CONTRAST), [])
            # Before its time, by hand.
            page.locator("#alarms button[data-act=unshelve]").first.click()
            page.wait_for_selector("#minutes", state="hidden")
            page.click("#act-yes")
            wait(page, "document.querySelector('#state').textContent.includes('3 alarms wait')")
            self.assertEqual(seen.complaints, [])
        # By itself: the state folder of a service whose shelf has run out meanwhile.
        self.assertEqual(self.server.ask("POST", "/v1/alarms/3/shelve", {"by": "Zhang Min", "why": "test", "minutes": 1},
                                         {"content-type": "application/json"})[0], 200)
        self.server.stop()
        path = os.path.join(self.folder.name, "alarms.json")
        with open(path) as file:
            state = json.load(file)
        shelved = next(a for a in state["alarms"] if a["id"] == 3)
        self.assertEqual(shelved["shelved_by"], "Zhang Min")
        shelved["shelved_until_ns"] = time.time_ns() + 4 * 10**9
        with open(path, "w") as file:
            json.dump(state, file)
        self.server.__exit__()
        self.server = Server(["--service-state-folder", self.folder.name])
        with self.open() as (page, _):
            wait(page, "document.querySelector('#state').textContent.includes('2 alarms wait')", 3)
            wait(page, "document.querySelector('#state').textContent.includes('3 alarms wait')", 8)

    def test_says_when_the_server_is_gone_and_when_it_is_back(self):
        with self.open() as (page, _):
            page.wait_for_selector("#alarms button")
            port = self.server.port
            # The stream of events does not hold the end up.
            began = time.monotonic()
            self.assertEqual(self.server.stop(signal.SIGTERM), 0)
            self.assertLess(time.monotonic() - began, 5)
            wait(page, "document.querySelector('#state').textContent.includes('No answer')", 10)
            self.assertIn("may be out of date", page.inner_text("#banners"))
            self.shoot(page, "stale")
            self.server.__exit__()
            self.server = Server(["--service-state-folder", self.folder.name, "--http-port", str(port)])
            wait(page, "!document.querySelector('#state').textContent.includes('No answer')", 15)

    def test_asks_for_a_key(self):
        keys = os.path.join(self.folder.name, "keys.toml")
        made = subprocess.run([PROGRAM, "serve", "--access-keys", keys, "--new-key", "desk", "--scopes", "infer"],
                              capture_output=True, text=True, check=True, env=environment(XDG_CONFIG_HOME=self.folder.name))
        key = made.stdout.split()[-1]
        self.server.__exit__()
        self.server = Server(["--service-state-folder", self.folder.name, "--access-keys", keys])
        with self.open() as (page, _):
            page.wait_for_selector("#entry[open]")
            self.assertIn("Key needed", page.inner_text("#state"))
            page.fill("#key", "wrong")
            page.click("#entry-yes")
            wait(page, "document.querySelector('#entry-wrong').textContent !== ''")
            self.shoot(page, "key", whole=False)
            page.fill("#key", key)
            page.keyboard.press("Enter")
            page.wait_for_selector("#alarms button")
            self.assertEqual(page.evaluate("localStorage.getItem('plinth-key')"), None)
            page.locator("#alarms button").first.click()
            page.fill("#by", "Zhang Min")
            page.click("#act-yes")
            wait(page, "document.querySelector('#alarms').textContent.includes('Zhang Min (desk)')")
            page.reload()  # the tab keeps it
            page.wait_for_selector("#alarms button")

    def test_prints(self):
        self.fill()
        with self.open() as (page, seen):
            page.wait_for_selector("#series button")
            page.wait_for_timeout(600)
            page.emulate_media(media="print")
            page.wait_for_timeout(300)
            self.shoot(page, "print")
            self.assertEqual(page.evaluate("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)")
            self.assertEqual(page.locator("button:visible").count(), 0)
            self.assertIn("plinth accept", page.inner_text("#models"))
            page.pdf(path=os.path.join(PICTURES, "print.pdf"), format="A4")
            self.assertEqual(seen.complaints, [])

    def test_reads_well_to_those_who_do_not_see_it(self):
        self.fill()
        with self.open() as (page, _):
            page.wait_for_selector("#series button")
            unnamed = page.evaluate("""() => Array.from(document.querySelectorAll('button, input, textarea, [role=img], [role=region]'))
              .filter((e) => e.checkVisibility()).filter((e) => !e.textContent.trim() && !e.getAttribute('aria-label') &&
                !e.getAttribute('aria-labelledby') && !(e.labels && e.labels.length)).map((e) => e.outerHTML)""")
            self.assertEqual(unnamed, [])
            page.keyboard.press("Tab")
            self.assertEqual(page.evaluate("document.activeElement.className"), "skip")
            heads = page.evaluate("Array.from(document.querySelectorAll('main h1, main h2, main h3')).map((h) => +h.tagName[1])")
            self.assertTrue(all(b - a <= 1 for a, b in zip([1] + heads, heads)), heads)
            self.assertEqual(page.get_attribute("#state", "role"), "status")


if __name__ == "__main__":
    if CHROMIUM is None:
        print("skipped: there is no Chromium (Debian's package is chromium; PLINTH_CHROMIUM names another)")
        sys.exit(77)
    unittest.main()
