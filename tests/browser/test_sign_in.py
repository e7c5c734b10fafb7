"""Keys in a real browser: whose a run is, the teacher's way in, and what stands in bars, histories and consoles."""

from playwright.sync_api import expect

from .conftest import address, choose, settle


def test_the_teachers_link_opens_once_leaves_no_code_behind_and_signs_out(
        page, visit, visitor, teachers_link, app_url, theirs):
    def stop():
        return visit(f"/train?view=watch&run={theirs.name}").get_by_role("button", name="Stop", exact=True)

    link = teachers_link()
    choose(visit(), "room")
    page.wait_for_url("**/room*")
    settle(page).goto(link)
    page.wait_for_url(f"{app_url}/room*")  # where somebody was told to open it
    settle(page).goto(app_url + "/train?view=new")
    expect(settle(page).get_by_text("You are signed in as the teacher")).to_be_visible()
    code = link.partition("#")[2]
    history = page.context.new_cdp_session(page).send("Page.getNavigationHistory")
    assert not [entry for entry in history["entries"] if code in entry["url"]]
    page.go_back(wait_until="domcontentloaded")
    assert code not in page.url
    assert page.evaluate("[document.cookie, ...Object.values(localStorage), ...Object.values(sessionStorage)].join()"
                         ".match(/headsup/)") is None
    expect(stop()).to_be_enabled()  # of a run that somebody else has started
    other = visitor()
    other.goto(link)
    expect(other.get_by_role("status")).to_contain_text("has been used")
    assert teachers_link() != link
    page.goto(f"{app_url}/teacher")
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url(f"{app_url}/train*")
    expect(settle(page).get_by_role("heading", name="Train")).to_be_visible()
    settle(page).goto(app_url + "/train?view=new")
    expect(settle(page).get_by_role("heading", name="A new run")).to_be_visible()
    expect(page.get_by_text("You are signed in as the teacher")).to_have_count(0)
    expect(stop()).to_be_disabled()


def test_a_key_stays_whatever_a_link_says_and_moves_to_another_browser_by_a_code(
        context, visitor, visit, app_url, complaints):
    def key(context):
        return next(cookie["value"] for cookie in context.cookies() if cookie["name"] == "headsup_visitor")

    visit("/train")
    mine = key(context)
    page = visit("/train?view=runs&key=evil-classmate-key&teacher=x")
    assert set(address(page)) == {"view", "task"}
    assert key(context) == mine
    assert page.evaluate("localStorage.getItem('heads-up-key')") is None
    page.get_by_role("button", name="My runs in another browser").click()
    page.get_by_role("button", name="Make a code").click()
    code = page.get_by_test_id("stPopoverBody").locator("code").text_content()
    page.keyboard.press("Escape")
    there = visitor()
    other = there.context
    there.goto(f"{app_url}/move")
    assert key(other) != key(context)
    expect(there.get_by_text("It replaces the key that this browser keeps")).to_be_visible()
    there.get_by_label("Code").fill(code.lower())
    there.get_by_role("button", name="Replace the key of this browser").click()
    there.wait_for_url(f"{app_url}/train?view=runs*")
    assert key(other) == key(context)
    assert key(context) not in settle(there).content() + there.url + code
    there.goto(f"{app_url}/move")
    there.get_by_label("Code").fill(code)
    there.get_by_role("button", name="Replace the key of this browser").click()
    expect(there.get_by_role("alert")).to_contain_text("is not a code, or has expired")
    assert complaints == []


def test_other_hosts_pictures_and_other_sites_frames_stay_out(page, visit, app_url):
    visit("/")
    blocked = page.evaluate("""() => new Promise((resolve) => {
      document.addEventListener("securitypolicyviolation", ({ effectiveDirective, disposition }) =>
        resolve([effectiveDirective, disposition]));
      document.body.append(Object.assign(new Image(), { src: "http://127.0.0.9:9/x.png" }));
    })""")
    assert blocked == ["img-src", "enforce"]
    page.route("http://127.0.0.1:7000/", lambda route: route.fulfill(  # another port of this computer is another site
        content_type="text/html", body=f"<iframe src='{app_url}/train'></iframe>"))
    page.goto("http://127.0.0.1:7000/")
    (frame,) = page.frames[1:]
    assert frame.url.startswith("chrome-error:")
