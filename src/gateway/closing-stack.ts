// The closing stack: everything that was opened, with how it closes. It is closed in reverse order, also when the next thing
// could not be opened.

type Close = () => void | Promise<void>;

export class ClosingStack {
  readonly #closes: Close[] = [];

  /** Puts what was opened on the stack, and returns it. */
  opened<Opened>(opened: Opened, close: (opened: Opened) => void | Promise<void>): Opened {
    this.#closes.push(() => close(opened));
    return opened;
  }

  /** Opens with this stack. If that throws, whatever is on the stack by then is closed, and the error goes on. */
  async open<Opened>(open: (stack: this) => Promise<Opened>): Promise<Opened> {
    try {
      return await open(this);
    } catch (error) {
      // Why it could not be opened is what the caller has to know.
      await this.close().catch(() => {});
      throw error;
    }
  }

  /** Each once, one after the other, the last opened first. One that cannot be closed does not keep the others open. */
  async close(): Promise<void> {
    const errors: unknown[] = [];
    for (let close = this.#closes.pop(); close !== undefined; close = this.#closes.pop()) {
      try {
        await close();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }
}
