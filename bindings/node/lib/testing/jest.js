// Gives Jest's `expect` the matcher. It belongs into `setupFilesAfterEnv`.
import { expect } from '@jest/globals';
import { toMatchCompaction } from './index.js';

expect.extend({ toMatchCompaction });
