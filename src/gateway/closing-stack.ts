// The closing stack: everything that was opened, and how to close it, in reverse order, even if the next thing could not be
// opened.

type Close = () => void | Promise<void>;

export class ClosingStack {
  readonly #closes: Close[] = [];

  /** Pushes an opened thing onto the stack, and returns it. */
  opened<Opened>(opened: Opened, close: (opened: Opened) => void | Promise<void>): Opened {
    this.#closes.push(() => close(opened));
    return opened;
  }

  /** Opens with this stack. If that throws, closes everything on the stack and rethrows. */
  async open<Opened>(open: (stack: this) => Promise<Opened>): Promise<Opened> {
    try {
      return await open(this);
    } catch (error) {
      // The caller needs the reason why it could not be opened.
      await this.close().catch(() => {});
      throw error;
    }
  }

  /** Closes each once, one after the other, last opened first. A failure to close one does not keep the others open. */
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
