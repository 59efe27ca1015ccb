// Questions to the server: an answer that a newer question has overtaken is dropped.

export class ServerError extends Error {}

async function answer(path, options) {
  const response = await fetch(path, options).catch(() => null);
  if (!response) throw new ServerError("The server does not answer. Is it still running?");
  const facts = await response.json().catch(() => null);
  if (response.ok && facts) return facts;
  throw new ServerError(facts?.error ?? `The server answered ${response.status}.`);
}

export const get = (path) => answer(path, { headers: { accept: "application/json" } });

export class Questions {
  #current = null;

  // The facts, or null if another question came meanwhile.
  async ask(path, body) {
    this.drop();
    const current = new AbortController();
    this.#current = current;
    try {
      const facts = await answer(path, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
        signal: current.signal,
      });
      return this.#current === current ? facts : null;
    } catch (error) {
      if (this.#current !== current) return null;
      throw error;
    }
  }

  drop() {
    this.#current?.abort();
    this.#current = null;
  }
}
