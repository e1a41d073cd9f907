// A page that cannot be shown, because a part of it did not come or because of a mistake in it, takes nothing else with it.
import { Component, type ReactNode } from 'react';
import { Failure } from '../states.js';

interface Given {
  /** Another page is another attempt. */
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
    // A part that did not come is not asked for again by browsers, unless the page is loaded anew.
    return error === undefined ? (
      this.props.children
    ) : (
      <Failure error={error} again={() => location.reload()} />
    );
  }
}
