// Demo data: Galatea itself with a museum's persona, a made-up Telegram and a made-up model. Everything in
// the database comes about as it would with people: answers, silences, a send that gave up, figures.
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fakeModel, fakeTelegram } from './fakes.mjs';
import { startProgram } from './program.mjs';

const CHARACTER = {
  name: 'Ada',
  username: 'ada',
  bio: ['Ada answers questions of visitors of the Foundry Museum.', 'She knows the collection and the opening hours.'],
  topics: ['bronze', 'sculpture', 'opening hours', 'guided tours'],
  style: { all: ['be brief', 'name the room where something stands'], chat: [], post: [] },
};

const ANSWERS = [
  [/open|hours|monday|close/i, 'We open at nine, Tuesday to Sunday, and close at six. Mondays we are closed.'],
  [/tour|guide/i, 'The guided tour begins at eleven, in the entrance hall. It takes about an hour.'],
  [/ticket|price|cost/i, 'A ticket is 12 euros, 6 for students. Children under twelve come in free.'],
  [/bronze|cast|foundry/i, 'The casts stand in room 4. The film beside them shows how the wax leaves the mould.'],
  [/dog|bag|photo/i, 'Photos are welcome without flash. Large bags stay in the cloakroom, dogs outside.'],
  [/wheelchair|lift|stairs/i, 'Yes: the lift by the north door reaches every room, and wheelchairs wait at the desk.'],
  [/thank/i, 'You are welcome. Enjoy the rooms.'],
];
const FACT = /facts?|JSON|summar/i;

function reply(asked, prompt) {
  const last = asked.messages?.at(-1)?.content;
  const text = typeof last === 'string' ? last : prompt.slice(-400);
  if (FACT.test(String(asked.messages?.[0]?.content ?? '').slice(0, 200))) return '[]';
  const words = text.split('\n').at(-1) ?? '';
  return ANSWERS.find(([pattern]) => pattern.test(words))?.[1] ?? 'The desk in the entrance hall knows that best.';
}

const GROUP = { chat: -1001122334455, title: 'Museum friends' };
const PEOPLE = {
  maria: { from: 7001, name: 'Maria Lindqvist', user: 'maria' },
  jo: { from: 7002, name: 'Jo Tanaka', user: 'jo' },
  sam: { from: 7003, name: 'Sam Okafor', user: 'sam' },
  ines: { from: 7004, name: 'Inés Ruiz', user: 'ines' },
};
/** Who says it, what, and where: `g` in the group, else in a private chat. */
const SAID = [
  ['maria', 'When do you open on Sunday?'],
  ['jo', '@acme_helper_bot is there a tour in English?', 'g'],
  ['sam', 'lol', 'g'],
  ['ines', '¿Cuánto cuesta? What is the ticket price?'],
  ['maria', 'Thank you!'],
  ['sam', 'who is coming on Thursday?', 'g'],
  ['sam', 'May I bring my dog?'],
  ['jo', 'Where do the bronze casts stand?'],
  ['ines', '@acme_helper_bot does the lift reach every room?', 'g'],
  ['jo', 'see you there', 'g'],
  ['maria', 'Is the guided tour on Monday too?'],
  ['sam', 'How long does the tour take?'],
];

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function until(what, done, ms = 30_000) {
  const end = Date.now() + ms;
  while (Date.now() < end) {
    if (await done()) return;
    await pause(200);
  }
  throw new Error(`${what} did not happen within ${ms / 1000} s`);
}

/** Starts a filled Galatea. `stop` ends all of it; `gaveUp` is whether a send gave up. */
export async function filled(
  binary,
  { folder = mkdtempSync(join(tmpdir(), 'galatea-demo-')), port, gaveUp = true } = {},
) {
  const telegram = await fakeTelegram();
  const model = await fakeModel(reply, 400);
  writeFileSync(join(folder, 'ada.json'), JSON.stringify(CHARACTER, null, 2));
  const more = {
    TELEGRAM_API_ROOT: telegram.url,
    TELEGRAM_BOT_TOKEN: telegram.token,
    OPENAI_BASE_URL: `${model.url}/v1`,
    OPENAI_API_KEY: model.state.key,
    OPENAI_SMALL_MODEL: 'gpt-4o-mini',
    OPENAI_LARGE_MODEL: 'gpt-4o-mini',
  };
  const program = await startProgram(binary, { more, folder, port, args: ['--character', 'ada.json'] });
  let asked = 0;
  for (const [who, text, place] of SAID) {
    telegram.say(text, { ...PEOPLE[who], ...(place ? GROUP : {}) });
    if (!place || text.includes('@')) asked += 1;
    await pause(700);
  }
  await until('every answer', () => telegram.sent.length >= asked);
  if (gaveUp) telegram.refuse('sendMessage', 403, 'Forbidden: bot was kicked from the supergroup chat');
  telegram.say('@acme_helper_bot are photos allowed?', { ...PEOPLE.ines, ...GROUP });
  await pause(2500);
  telegram.refuse();
  await program.say('Is the museum open today?', 'front-desk');
  const stop = async () => {
    await program.stop();
    telegram.close();
    model.close();
  };
  return { program, telegram, model, stop };
}
