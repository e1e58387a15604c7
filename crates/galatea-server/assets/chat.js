// The chat of a persona on any page:
//   <script src="http://localhost:3000/embed/chat.js" data-agent="Ada" defer></script>
// Everything it shows is inside a shadow root, so the page's styles and its own leave each other alone. Words of the
// persona are text, never markup.
(() => {
  'use strict';
  const me = document.currentScript;
  if (!me) return;
  const server = new URL(me.src).origin;
  const agent = me.dataset.agent || '';
  const words = {
    open: me.dataset.open || 'Chat',
    write: me.dataset.write || 'Write a message',
    send: me.dataset.send || 'Send',
    forget: me.dataset.forget || 'Forget me',
    failed: me.dataset.failed || 'No answer came. Please try again.',
    silent: me.dataset.silent || 'There is no answer to this.',
  };
  const style = `
    :host { all: initial; }
    * { box-sizing: border-box; font: 15px/1.45 system-ui, sans-serif; }
    .open { position: fixed; right: 16px; bottom: 16px; padding: 10px 18px; border: 0; border-radius: 22px;
      background: #1f3d5c; color: #fff; cursor: pointer; z-index: 2147483000; }
    .box { position: fixed; right: 16px; bottom: 72px; width: min(370px, calc(100vw - 32px)); height: min(520px, calc(100vh - 100px));
      display: none; flex-direction: column; background: #fff; color: #1b1b1b; border: 1px solid #c9d2db; border-radius: 10px;
      overflow: hidden; z-index: 2147483000; }
    .box.shown { display: flex; }
    header { display: flex; justify-content: space-between; align-items: center; padding: 8px 12px; background: #1f3d5c; color: #fff; }
    header button { background: none; border: 0; color: #d7e3ee; cursor: pointer; font-size: 13px; text-decoration: underline; }
    ol { list-style: none; margin: 0; padding: 12px; flex: 1; overflow-y: auto; }
    li { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0 0 8px; padding: 8px 11px; border-radius: 10px; background: #eef2f6; max-width: 88%; }
    li.own { background: #d9ecd9; margin-left: auto; width: fit-content; }
    li.draft { opacity: .75; }
    li.note { background: none; color: #5b6570; font-size: 13px; }
    form { display: flex; gap: 6px; padding: 8px; border-top: 1px solid #dde4ea; }
    textarea { flex: 1; resize: none; height: 42px; padding: 8px; border: 1px solid #b8c3cd; border-radius: 8px; }
    form button { padding: 0 14px; border: 0; border-radius: 8px; background: #1f3d5c; color: #fff; cursor: pointer; }
    form button:disabled { opacity: .5; cursor: default; }
    :focus-visible { outline: 2px solid #e08a1e; outline-offset: 2px; }
  `;
  const make = (name, props = {}, ...children) => {
    const element = Object.assign(document.createElement(name), props);
    element.append(...children);
    return element;
  };
  const host = make('div');
  const root = host.attachShadow({ mode: 'closed' });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(style);
  root.adoptedStyleSheets = [sheet];
  const log = make('ol', { ariaLive: 'polite' });
  const input = make('textarea', { placeholder: words.write, ariaLabel: words.write, maxLength: 4000 });
  const send = make('button', { type: 'submit', textContent: words.send });
  const title = make('strong', { textContent: agent || words.open });
  const forget = make('button', { type: 'button', textContent: words.forget });
  const box = make(
    'section',
    { className: 'box', role: 'dialog', ariaLabel: words.open },
    make('header', {}, title, forget),
    log,
    make('form', {}, input, send),
  );
  const open = make('button', { className: 'open', type: 'button', textContent: words.open, ariaExpanded: 'false' });
  root.append(box, open);

  const line = (text, kind = '') => {
    const item = make('li', { textContent: text, className: kind });
    log.append(item);
    log.scrollTop = log.scrollHeight;
    return item;
  };
  const ask = (path, options = {}) => fetch(server + path, { credentials: 'include', ...options });

  /** Calls back for each event of a stream of server-sent events. */
  const read = async (response, tell) => {
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      text += value;
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const lines = text.slice(0, end).split('\n');
        text = text.slice(end + 2);
        const field = (name) => lines.find((l) => l.startsWith(name))?.slice(name.length).trim();
        const data = field('data:');
        if (data) tell(field('event:'), JSON.parse(data));
      }
    }
  };

  const say = async (text) => {
    line(text, 'own');
    let draft = null;
    let answered = false;
    send.disabled = true;
    try {
      const body = JSON.stringify({ agent, text });
      const headers = { 'content-type': 'application/json', accept: 'text/event-stream' };
      const response = await ask('/embed/messages', { method: 'POST', headers, body });
      if (!response.ok) throw new Error(String(response.status));
      await read(response, (event, data) => {
        if (event === 'draft') {
          draft ??= line('', 'draft');
          draft.textContent = data.text;
          log.scrollTop = log.scrollHeight;
        } else if (event === 'message') {
          answered = true;
          draft?.remove();
          draft = null;
          line(data.text);
        } else if (event === 'silent' && !answered) {
          answered = true;
          line(words.silent, 'note');
        }
      });
      if (!answered) throw new Error('no answer');
    } catch {
      line(words.failed, 'note');
    }
    draft?.remove();
    send.disabled = false;
  };

  const load = async () => {
    const query = `?agent=${encodeURIComponent(agent)}`;
    try {
      const about = await ask(`/embed/agent${query}`);
      if (about.ok) title.textContent = (await about.json()).name;
      const history = await ask(`/embed/messages${query}`);
      if (history.ok) for (const said of (await history.json()).items) line(said.text, said.own ? 'own' : '');
    } catch {
      line(words.failed, 'note');
    }
  };

  let loaded = false;
  open.addEventListener('click', () => {
    const shown = box.classList.toggle('shown');
    open.ariaExpanded = String(shown);
    if (shown && !loaded) {
      loaded = true;
      void load();
    }
    if (shown) input.focus();
  });
  box.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') open.click();
  });
  const submit = () => {
    const text = input.value.trim();
    if (!text || send.disabled) return;
    input.value = '';
    void say(text);
  };
  box.querySelector('form').addEventListener('submit', (event) => {
    event.preventDefault();
    submit();
  });
  input.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      submit();
    }
  });
  forget.addEventListener('click', async () => {
    try {
      const gone = await ask('/embed/visitor', { method: 'DELETE' });
      if (gone.ok) log.replaceChildren();
      else line(words.failed, 'note');
    } catch {
      line(words.failed, 'note');
    }
  });
  document.body.append(host);
})();
