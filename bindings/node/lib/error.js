export class FoldbackError extends Error {
  constructor(message, path) {
    super(message);
    this.name = 'FoldbackError';
    this.path = path;
  }

  /** An error about a message. */
  static at(path, detail) {
    return new FoldbackError(path ? `${path}: ${detail}` : detail, path || undefined);
  }

  /** An error of the native part. */
  static of(wrong) {
    if (wrong instanceof FoldbackError) return wrong;
    return new FoldbackError(wrong.message, wrong.code?.startsWith('/') ? wrong.code : undefined);
  }
}
