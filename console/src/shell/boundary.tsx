// Catches errors of one page, such as a chunk that did not load, so that the rest of the console goes on working.
import { Component, type ReactNode } from 'react';
import { Failure } from '../states.js';

interface Given {
  /** Changes with the page, which clears the error. */
  readonly at: string;
  readonly children: ReactNode;
}

export class Boundary extends Component<Given, { readonly error?: unknown }> {
  override readonly state: { readonly error?: unknown } = {};

  static getDerivedStateFromError(error: unknown): { readonly error: unknown } {
    return { error };
  }

  override componentDidUpdate({ at }: Given): void {
    if (at !== this.props.at && this.state.error !== undefined) this.setState({ error: undefined });
  }

  override render(): ReactNode {
    const { error } = this.state;
    // Browsers do not retry a chunk that failed to load until the page is reloaded.
    return error === undefined ? (
      this.props.children
    ) : (
      <Failure error={error} again={() => location.reload()} />
    );
  }
}
