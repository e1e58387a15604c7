// Says of every message of the last page why it was or was not answered, then follows new ones.
import { createGalatea, read } from 'galatea-client';

const galatea = createGalatea({ url: process.env.GALATEA_URL, token: process.env.GALATEA_TOKEN });
const { items } = await read(galatea.api.GET('/api/v1/turns', { params: { query: { limit: 20 } } }));
for (const turn of items) {
  const reason = turn.verdict?.steps.find((step) => ['answer', 'skip', 'failed'].includes(step.outcome))?.reason;
  console.log(`${turn.source} “${turn.text}” ${turn.verdict?.decision ?? 'waits'}: ${reason ?? 'no reason yet'}`);
}
if (process.argv.includes('--follow')) {
  // A stream that breaks goes on after the last number: nothing is lost, nothing comes twice.
  for await (const event of galatea.events({ kinds: ['turn_finished', 'turn_failed'] })) {
    if (event.kind === 'turn_finished') console.log(`${event.data.turn} took ${event.data.millis} ms`);
    if (event.kind === 'turn_failed') console.log(`${event.data.turn} failed: ${event.data.reason}`);
  }
}
