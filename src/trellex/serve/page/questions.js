// Questions to the server: an answer that a newer question has overtaken is dropped.

export class ServerError extends Error {}

async function answer(response) {
  const facts = await response.json().catch(() => ({}));
  if (response.ok) return facts;
  throw new ServerError(facts.error ?? `The server answered ${response.status}.`);
}

export async function get(path) {
  return answer(await fetch(path, { headers: { accept: "application/json" } }));
}

export class Questions {
  #current = null;

  // The facts, or null if another question came meanwhile.
  async ask(path, body) {
    this.drop();
    const current = new AbortController();
    this.#current = current;
    try {
      const facts = await answer(
        await fetch(path, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(body),
          signal: current.signal,
        }),
      );
      return this.#current === current ? facts : null;
    } catch (error) {
      if (this.#current !== current) return null;
      if (error instanceof ServerError) throw error;
      throw new ServerError("The server does not answer. Is it still running?");
    }
  }

  drop() {
    this.#current?.abort();
    this.#current = null;
  }
}
