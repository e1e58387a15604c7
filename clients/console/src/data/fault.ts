// A refusal of the server as the views show it.
import { Problem } from './client';
import type { Fault, Fix, Role } from './types';

/** Code, title, cause and next step of an error. */
export function faultOf(error: Error): Fault {
  if (!(error instanceof Problem)) return { code: 'GAL-CONSOLE', title: error.message };
  const { fix } = error.body;
  const step = typeof fix === 'object' && fix !== null ? (fix as Fix) : error.fix ? { label: error.fix } : undefined;
  return { code: error.code, title: error.message, cause: error.detail, fix: step };
}

/** The role that a refused request needs, where the server names it. */
export function neededRole(error: Problem): Role {
  const words = `${String(error.body.needs ?? '')} ${error.message} ${error.detail ?? ''}`;
  return /\bowner\b/.test(words.replace(/you are \w+/, '')) ? 'owner' : 'operator';
}
