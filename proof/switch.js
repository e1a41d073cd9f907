// A relay before several servers, as a load balancer is: it decides by itself where a new connection leads, and can be wrong.
import { connect, createServer } from 'node:net';

export class Switch {
  #relay;
  #ports = [];
  #turn = 0;
  #sockets = new Map();

  port;

  static async open(...ports) {
    const opened = new Switch();
    opened.#ports = ports;
    opened.#relay = createServer({ noDelay: true }, (near) => opened.#accept(near));
    await new Promise((resolve) => opened.#relay.listen(0, '127.0.0.1', resolve));
    opened.port = opened.#relay.address().port;
    return opened;
  }

  /** The address of a server, by way of here. */
  urlOf(url) {
    const through = new URL(url);
    through.port = String(this.port);
    return through.href;
  }

  /** New connections lead there, in turns where there are several. */
  lead(...ports) {
    this.#ports = ports;
  }

  /** Ends the connections that lead to this port, as a load balancer does once it has noticed; or all. */
  cut(port) {
    for (const [socket, to] of this.#sockets) if (port === undefined || to === port) socket.destroy();
  }

  close() {
    this.#relay.close();
    this.cut();
  }

  #accept(near) {
    const port = this.#ports[this.#turn++ % this.#ports.length];
    if (port === undefined) {
      near.destroy();
      return;
    }
    const far = connect({ host: '127.0.0.1', port, noDelay: true });
    this.#join(near, far, port);
    this.#join(far, near, port);
  }

  #join(from, to, port) {
    this.#sockets.set(from, port);
    from.pipe(to);
    from.on('error', () => to.destroy());
    from.on('close', () => {
      this.#sockets.delete(from);
      to.destroySoon();
    });
  }
}
