// Gives Vitest's `expect` the matcher. It belongs into `setupFiles`.
import { expect } from 'vitest';
import { toMatchCompaction } from './index.js';

expect.extend({ toMatchCompaction });
