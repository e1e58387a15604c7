// The typed client of the page: the only way to the server. The session's cookie signs in.
import { createGalatea, type Schemas } from 'galatea-client';

export { Problem, read } from 'galatea-client';
export type S = Schemas;

export const galatea = createGalatea({ fetch: (request) => fetch(request) });
export const { api } = galatea;
