// Made-up services on this machine, for walks and for demo data: a Bot API of Telegram and a server that
// speaks OpenAI's API. Nothing leaves the machine.
import { createServer } from 'node:http';

async function listen(handle) {
  const server = createServer((request, response) => {
    handle(request, response).catch((error) => {
      if (!response.headersSent) response.writeHead(500);
      response.end(String(error));
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function bodyOf(request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  const text = Buffer.concat(parts).toString();
  try {
    return text ? JSON.parse(text) : {};
  } catch {
    return Object.fromEntries(new URLSearchParams(text));
  }
}

const json = (response, status, value) => {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value));
};

/** Longest wait of a poll for updates, so that a stop is not held up. */
const POLL_MS = 2_000;

/** A Bot API that knows one token. `say` lets a person write; `sent` holds what the bot wrote. */
export async function fakeTelegram(token = '424242:AAFakeTokenOfTheWalkThroughTheConsole') {
  const id = Number(token.split(':')[0]);
  const bot = {
    id,
    is_bot: true,
    first_name: 'Acme Helper',
    username: 'acme_helper_bot',
    can_join_groups: true,
    can_read_all_group_messages: true,
  };
  const updates = [];
  const sent = [];
  const state = { refuse: null };
  let number = 0;
  const wake = new Set();
  const poll = async (offset, seconds) => {
    const ready = () => updates.filter((update) => update.update_id >= offset);
    if (ready().length === 0)
      await new Promise((resolve) => {
        const end = setTimeout(resolve, Math.min(POLL_MS, seconds * 1000));
        wake.add(() => {
          clearTimeout(end);
          resolve();
        });
      });
    return ready();
  };
  const methods = {
    getMe: () => bot,
    getWebhookInfo: () => ({ url: '', has_custom_certificate: false, pending_update_count: 0 }),
    getUpdates: ({ offset = 0, timeout = 0 }) => poll(Number(offset), Number(timeout)),
    sendMessage: ({ chat_id, text }) => {
      number += 1;
      const chat = { id: Number(chat_id), type: Number(chat_id) > 0 ? 'private' : 'supergroup' };
      sent.push({ chat: Number(chat_id), text });
      return { message_id: number, date: Math.floor(Date.now() / 1000), chat, from: bot, text };
    },
    getChat: ({ chat_id }) => ({ id: Number(chat_id), type: Number(chat_id) > 0 ? 'private' : 'supergroup' }),
    getChatAdministrators: () => [],
  };
  const server = await listen(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url, 'http://localhost');
    const [, given, method] = /^\/bot([^/]+)\/(\w+)$/.exec(pathname) ?? [];
    if (given !== token) return json(response, 401, { ok: false, error_code: 401, description: 'Unauthorized' });
    const asked = { ...Object.fromEntries(searchParams), ...(await bodyOf(request)) };
    if (state.refuse?.method === method)
      return json(response, state.refuse.code, {
        ok: false,
        error_code: state.refuse.code,
        description: state.refuse.description,
      });
    const result = methods[method] ? await methods[method](asked) : true;
    return json(response, 200, { ok: true, result });
  });
  const say = (text, { from = 7001, name = 'Maria Lindqvist', user = 'maria', chat, title, at = Date.now() } = {}) => {
    number += 1;
    const date = Math.floor(at / 1000);
    const place = chat ? { id: chat, type: 'supergroup', title } : { id: from, type: 'private', first_name: name };
    const person = { id: from, is_bot: false, first_name: name, username: user, language_code: 'en' };
    updates.push({ update_id: number, message: { message_id: number, date, chat: place, from: person, text } });
    for (const go of wake) go();
    wake.clear();
  };
  /** Makes a method fail, such as `refuse('sendMessage', 403, 'Forbidden: bot was kicked')`; none: all work. */
  const refuse = (method, code, description) => {
    state.refuse = method ? { method, code, description } : null;
  };
  return { ...server, token, bot, say, sent, refuse };
}

const tokens = (text) => Math.ceil(text.length / 4);

/** A model that answers by `reply(text)`, after `pause` milliseconds; it reports tokens as OpenAI does. */
export async function fakeModel(reply, pause = 250) {
  const state = { key: 'sk-walk', calls: 0 };
  const server = await listen(async (request, response) => {
    if (request.headers.authorization !== `Bearer ${state.key}`)
      return json(response, 401, {
        error: { message: 'Incorrect API key provided', type: 'invalid_request_error', code: 'invalid_api_key' },
      });
    if (request.url.endsWith('/models'))
      return json(response, 200, { object: 'list', data: [{ id: 'gpt-4o-mini', object: 'model' }] });
    if (!request.url.endsWith('/chat/completions'))
      return json(response, 404, { error: { message: 'there is no such address', type: 'invalid_request_error' } });
    const asked = await bodyOf(request);
    state.calls += 1;
    await new Promise((resolve) => setTimeout(resolve, pause));
    const prompt = (asked.messages ?? [])
      .map((m) => (typeof m.content === 'string' ? m.content : JSON.stringify(m.content ?? '')))
      .join('\n');
    const text = reply(asked, prompt);
    const [read, written] = [tokens(prompt), tokens(text)];
    const usage = {
      prompt_tokens: read,
      completion_tokens: written,
      total_tokens: read + written,
      prompt_tokens_details: { cached_tokens: Math.floor(read / 2) },
    };
    const head = { id: `chatcmpl-${state.calls}`, created: Math.floor(Date.now() / 1000), model: 'gpt-4o-mini' };
    if (!asked.stream) {
      const message = { role: 'assistant', content: text };
      return json(response, 200, {
        ...head,
        object: 'chat.completion',
        choices: [{ index: 0, message, finish_reason: 'stop' }],
        usage,
      });
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const chunk = (delta, finish = null, more = {}) =>
      response.write(
        `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }], ...more })}\n\n`,
      );
    for (const word of text.split(/(?<=\s)/)) {
      chunk({ content: word });
      await new Promise((resolve) => setTimeout(resolve, 15));
    }
    chunk({}, 'stop');
    response.write(
      `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [], usage })}\n\n`,
    );
    response.end('data: [DONE]\n\n');
  });
  return { ...server, state };
}
