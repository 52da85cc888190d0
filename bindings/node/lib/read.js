// The JSON texts of what was given before, so that only what is new is serialized.
import { isDeepStrictEqual } from 'node:util';

/** Arrays and plain objects are copied, with the texts in them shared; `undefined` for what has other objects in it. */
export function copy(value) {
  if (typeof value !== 'object' || value === null) return typeof value === 'function' ? undefined : { value };
  const list = Array.isArray(value);
  if (!list && ![Object.prototype, null].includes(Object.getPrototypeOf(value))) return undefined;
  const copied = list ? [] : Object.create(Object.getPrototypeOf(value));
  for (const [name, member] of Object.entries(value)) {
    const inner = copy(member);
    if (inner === undefined) return undefined;
    copied[name] = inner.value;
  }
  return { value: copied };
}

/** What was made of values, by their places. A value that is changed where it stands is known by a copy of it. */
export class Read {
  #kept = new Map();

  /** What `make` gives for a value at a place, or gave for an equal one. */
  of(place, value, make) {
    const kept = this.#kept.get(place);
    if (kept !== undefined && isDeepStrictEqual(kept.before, value)) return kept.made;
    const made = make(value, place);
    const before = copy(value);
    // Of other objects it can't be told whether they are the same the next time.
    if (before === undefined) this.#kept.delete(place);
    else this.#kept.set(place, { before: before.value, made });
    return made;
  }
}
