import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { findChromium } from "../../src/testing/chromium.js";

/** A browser whose pages report what went wrong in them. */
export class TestBrowser implements AsyncDisposable {
  readonly #browser: Browser;

  constructor(browser: Browser) {
    this.#browser = browser;
  }

  async open(url: string, options: BrowserContextOptions = {}): Promise<TestPage> {
    const context = await this.#browser.newContext({ viewport: { width: 960, height: 800 }, ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(15_000);
    const opened = new TestPage(page);
    await page.goto(url);
    return opened;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close();
  }
}

/** A page and everything that its console complained about: errors, warnings, and breaches of the content security policy. */
export class TestPage implements AsyncDisposable {
  readonly complaints: string[] = [];
  /** Addresses of all requests. */
  readonly requests: string[] = [];

  constructor(readonly page: Page) {
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") this.complaints.push(message.text());
    });
    page.on("pageerror", (error) => this.complaints.push(String(error)));
    page.on("request", (request) => this.requests.push(request.url()));
  }

  /** Sends a message as a person does. */
  async send(text: string): Promise<void> {
    await this.page.getByLabel("Message").fill(text);
    // A page that has not heard yet which agents there are sends nothing.
    await this.page.locator('button[type="submit"]:enabled', { hasText: "Send" }).waitFor();
    await this.page.keyboard.press("Enter");
  }

  /** The card of a delegation, by its agent's name and its place. */
  card(agent = "Research Agent", index = 0) {
    return this.page.locator("article", { hasText: agent }).nth(index);
  }

  /** Waits until the card is in a state, given by its word. */
  async cardIs(word: string): Promise<void> {
    await this.card().locator(".state", { hasText: word }).waitFor();
  }

  /** Waits until the last run is in a state, given by its words. */
  async runIs(words: string): Promise<void> {
    await this.page.locator(".run-status, .problem", { hasText: words }).last().waitFor();
  }

  /** The words of the page's conversation, as a person reads them; clocks are left out. */
  conversation(): Promise<string> {
    return this.page.locator("main").evaluate((main) => {
      const copy = main.cloneNode(true) as HTMLElement;
      for (const clock of copy.querySelectorAll(".elapsed")) clock.remove();
      return (copy.textContent ?? "").replace(/\s+/g, " ");
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.page.context().close();
  }
}

export async function startBrowser(): Promise<TestBrowser> {
  const { executablePath, args, env } = await findChromium();
  return new TestBrowser(await chromium.launch({ executablePath, args, ...(env && { env }) }));
}
