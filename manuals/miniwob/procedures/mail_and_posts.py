"""Procedures for email, social media and search results.

world: miniwob
source: written by hand
"""


def email_inbox(agent, task):
    """Find a person's email and reply to it, forward it, delete it or mark it.

    type: email-inbox
    type: email-inbox-nl-turk - Find a person's email and reply to it, forward it, delete it or mark it, for a freely worded goal.
    """
    handle(agent, task.params)


def email_inbox_forward_nl(agent, task):
    """Forward a person's email to another person, for a freely worded goal.

    type: email-inbox-forward-nl
    type: email-inbox-forward-nl-turk
    """
    forward(agent, task.params["by"], task.params["to"])


def social_media(agent, task):
    """Click a button on a post of the user. Buttons without an icon are in the menu behind the three dots of the post.

    type: social-media
    """
    user, button = task.params["user"], task.params["button"]
    post = f"(//*[@class='media'][.//*[@class='username'][text()='{user}']])[1]"
    if button in ("Reply", "Retweet", "Like"):
        agent.click_xpath(f"{post}//*[@class='{button.lower()}']")
    else:
        agent.click_xpath(f"{post}//*[@class='more']")
        agent.click_xpath(f"{post}//li[starts-with(text(), '{button}')]")


def social_media_all(agent, task):
    """Click a button on every post of the user, then submit.

    type: social-media-all
    """
    press_on_posts(agent, task.params["user"], task.params["button"])


def social_media_some(agent, task):
    """Click a button on as many posts of the user as the goal says, then submit.

    type: social-media-some
    """
    press_on_posts(agent, task.params["user"], task.params["button"], int(task.params["amount"]))


RESULTS_PER_PAGE = 3


def search_engine(agent, task):
    """Search for a word, go to the page that shows the wanted result, and click it.

    type: search-engine
    """
    agent.click_xpath("//*[@id='search-text']")
    agent.type(task.params["query"])
    agent.click_xpath("//*[@id='search']")
    place = int(task.params["rank"]) - 1
    if place >= RESULTS_PER_PAGE:
        agent.click_xpath(f"//*[@id='pagination']//a[text()='{place // RESULTS_PER_PAGE + 1}']")
    agent.click_xpath(f"//*[@id='page-content']//a[@data-result='{place}']")


def mail_from(agent, sender):
    """Return the XPath of the first email in the list that this person sent, or None."""
    threads = agent.find("//*[@id='main']//*[@class='email-thread']")
    senders = agent.find("//*[@id='main']//*[@class='email-thread']//*[@class='email-sender']")
    for thread, found in zip(threads, senders):
        if found["text"] == sender:
            return thread["xpath"]
    return None


def mark(agent, sender):
    """Mark the first email from this person as important."""
    agent.click_xpath(mail_from(agent, sender) + "//*[contains(@class, 'star')]")


def delete(agent, sender):
    """Delete the first email from this person."""
    agent.click_xpath(mail_from(agent, sender) + "//*[contains(@class, 'trash')]")


def reply(agent, sender, message):
    """Reply to the first email from this person."""
    agent.click_xpath(mail_from(agent, sender))
    agent.click_xpath("//*[@class='email-reply']")
    agent.click_xpath("//*[@id='reply-text']")
    agent.type(message)
    agent.click_xpath("//*[@id='send-reply']")


def forward(agent, sender, receiver):
    """Forward the first email from this person."""
    agent.click_xpath(mail_from(agent, sender))
    agent.click_xpath("//*[@class='email-forward']")
    agent.click_xpath("//*[@class='forward-sender']")
    agent.type(receiver)
    agent.click_xpath("//*[@id='send-forward']")


def handle(agent, wanted):
    """Apply the operation wanted["task"] to the email from wanted["by"]."""
    if wanted["task"] == "delete":
        delete(agent, wanted["by"])
    elif wanted["task"] == "forward":
        forward(agent, wanted["by"], wanted["to"])
    elif wanted["task"] == "reply":
        reply(agent, wanted["by"], wanted["message"])
    else:
        mark(agent, wanted["by"])


def press_on_posts(agent, user, button, amount=None):
    """Press Reply, Retweet, Like or Share on the first ``amount`` posts of the user, or on all (None), then submit."""
    posts = f"//*[@class='media'][.//*[@class='username'][text()='{user}']]"
    for icon in agent.find(f"{posts}//*[@class='{button.lower()}']")[:amount]:
        agent.click_xpath(icon["xpath"])
    agent.click_xpath("//button[text()='Submit']")
