// For the page of a shop: shows the page of a checkout in a frame, as high as it is, and tells the shop's page how it has ended.
//
//   <div data-tollgate-checkout="https://pay.example/co_…"></div>
//
// The element is told by the events `tollgate:complete` and `tollgate:cancelled`. They prove nothing: ask the interface from your server.

const MOST_HEIGHT = 5_000;

interface Message {
  readonly tollgate: 1;
  readonly type: 'height' | 'complete' | 'cancelled';
  readonly height?: number;
}

function isMessage(data: unknown): data is Message {
  return typeof data === 'object' && data !== null && (data as Partial<Message>).tollgate === 1;
}

/** Returns a function that takes the frame away again. */
function embed(place: HTMLElement, address: string): () => void {
  const url = new URL(address, location.href);
  // A page that takes the address from somebody else would run what that says.
  if (!/^https?:$/.test(url.protocol)) throw new TypeError('the address of a checkout begins with https:');
  const frame = document.createElement('iframe');
  frame.src = url.href;
  frame.title = place.dataset.title ?? 'Payment';
  frame.referrerPolicy = 'no-referrer';
  // For wallets: browsers let a page in a frame ask for a payment only so.
  frame.allow = 'payment';
  frame.style.cssText = 'width:100%;border:0;height:40rem;color-scheme:normal';
  const onMessage = ({ source, origin, data }: MessageEvent) => {
    // Only the page in this frame, and only as long as it is a page of the gateway.
    if (source !== frame.contentWindow || origin !== url.origin || !isMessage(data)) return;
    if (data.type === 'height' && typeof data.height === 'number')
      frame.style.height = `${Math.min(Math.max(Math.ceil(data.height), 0), MOST_HEIGHT)}px`;
    else if (data.type === 'complete' || data.type === 'cancelled')
      place.dispatchEvent(new CustomEvent(`tollgate:${data.type}`, { bubbles: true }));
  };
  addEventListener('message', onMessage);
  place.replaceChildren(frame);
  return () => {
    removeEventListener('message', onMessage);
    frame.remove();
  };
}

Object.assign(window, { TollgateCheckout: { embed } });

const begin = () => {
  for (const place of document.querySelectorAll<HTMLElement>('[data-tollgate-checkout]'))
    embed(place, place.dataset.tollgateCheckout ?? '');
};
if (document.readyState === 'loading') addEventListener('DOMContentLoaded', begin);
else begin();

export {};
