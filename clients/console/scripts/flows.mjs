// Paths of an operator through the console, each with what has to be seen at its end.
import { visit } from './page.mjs';

export async function flows({ server, page, set, complain }) {
  const tab = await page();
  const run = async (name, steps) => {
    await set({ mode: 'full', role: 'owner', signedIn: true });
    try {
      await steps();
      console.log(`✓ ${name}`);
    } catch (error) {
      complain(`${name}: ${String(error.message).split('\n').slice(0, 3).join(' ')} at ${tab.url()}`);
      await tab.screenshot({ path: `pictures/failed-${name.replace(/\W+/g, '-')}.png` }).catch(() => {});
    }
  };
  tab.setDefaultTimeout(20_000);
  const see = (text) => tab.getByText(text, { exact: false }).first().waitFor();
  const press = (name) => tab.getByRole('button', { name, exact: true }).first().click();
  const expect = (value, what) => {
    if (!value) throw new Error(what);
  };

  await run('the link signs in, once', async () => {
    await set({ mode: 'full', signedIn: false });
    await visit(tab, server.url);
    await see('galatea dashboard');
    await visit(tab, `${server.url}/login#once`);
    await see('following');
    expect(new URL(tab.url()).hash === '', 'the code stays in the address');
    await set({ mode: 'full', signedIn: false });
    await tab.goto('about:blank');
    await visit(tab, `${server.url}/login#once`);
    await see('This link was used.');
  });
  await run('chat streams, then its trace', async () => {
    await visit(tab, `${server.url}/chat`);
    await tab.getByRole('textbox').fill('opening hours?');
    await tab.keyboard.press('Enter');
    await tab.locator('.bubble.agent[data-state=done]').waitFor();
    expect((await tab.locator('.bubble.person').count()) === 1, 'the own message is there twice');
    await tab.locator('.bubble.agent .token').click();
    await tab.getByRole('link', { name: 'Open full trace' }).click();
    await see('gpt-4o-mini');
    await tab.locator('.wf-row').first().waitFor();
  });
  await run('a failed answer names its cause', async () => {
    await visit(tab, `${server.url}/chat`);
    await tab.getByRole('textbox').fill('fail now');
    await press('Send message');
    await see('OpenAI rejected OPENAI_API_KEY');
    await tab.getByRole('link', { name: 'Check the models' }).click();
    await see('OPENAI_API_KEY');
  });
  await run('why a message was ignored', async () => {
    await visit(tab, server.url);
    await tab
      .getByRole('button', { name: /ignored/ })
      .first()
      .click();
    await tab.locator('.row').first().click();
    await see('It answers when named');
  });
  await run('a broken connector is mended', async () => {
    await visit(tab, `${server.url}/connectors`);
    await press('Switch it on');
    await tab.getByText('Message Content intent is off').waitFor({ state: 'detached' });
  });
  await run('a platform is connected in steps', async () => {
    await visit(tab, `${server.url}/connectors?add=1`);
    await press('Telegram');
    await tab.getByLabel('Bot token').fill('nonsense');
    await press('Check and continue');
    await see('Not a valid bot token');
    await tab.getByLabel('Bot token').fill('123456:abcdefghijk');
    await press('Check and continue');
    await see('Connected as @acme_helper_bot.');
  });
  await run('a send that gave up is tried again', async () => {
    await visit(tab, `${server.url}/delivery`);
    await tab.locator('.row').first().click();
    await press('Retry send');
    await see('1 send is tried again.');
    await tab.getByRole('tab', { name: /Gave up 1/ }).waitFor();
  });
  await run('a drop asks first, focus on Cancel', async () => {
    await visit(tab, `${server.url}/delivery?id=o1`);
    await press('Drop message');
    await see('People will not get them.');
    expect(await tab.evaluate(() => document.activeElement?.textContent === 'Cancel'), 'focus is not on Cancel');
    await tab.keyboard.press('Escape');
    await tab.locator('dialog').waitFor({ state: 'detached' });
  });
  await run('an invalid character is refused, a valid one saved', async () => {
    await visit(tab, `${server.url}/agents/eliza/edit?form=json`);
    const field = tab.getByLabel('Character as JSON');
    const text = await field.inputValue();
    await field.fill('{\n  "name": }');
    await see('line 2');
    await field.fill(text.replace('"be brief"', '7'));
    await see('expected text');
    await field.fill(text.replace('"be brief"', '"be brief, warm"'));
    await see('+ be brief, warm');
    await tab.getByLabel('Ask the draft').fill('hi');
    await tab.keyboard.press('Enter');
    await see('I am Eliza');
    await tab.getByRole('button', { name: /^Save v13/ }).click();
    await press('Save character');
    await see('saved v13');
  });
  await run('another person saved first', async () => {
    await visit(tab, `${server.url}/agents/eliza/edit`);
    await tab.getByLabel('Name').fill('Eliza B');
    server.state.data.characters.eliza.etag = '"99"';
    await tab.getByRole('button', { name: /^Save v13/ }).click();
    await press('Save character');
    await see('saved v12 a minute ago');
  });
  await run('a waiting action is approved', async () => {
    await visit(tab, server.url);
    await press('Decide');
    await see('Cancel order 4411 of Sam Okafor');
    await press('Approve action');
    await see('Nothing waits for a decision.');
  });
  await run('a document is added and asked', async () => {
    await visit(tab, `${server.url}/knowledge`);
    await tab
      .locator('input[type=file]')
      .setInputFiles({ name: 'notes.md', mimeType: 'text/markdown', buffer: Buffer.from('# Notes') });
    await see('notes.md');
    await tab.getByRole('textbox', { name: 'Question' }).fill('When does the tour begin?');
    await press('Find passages');
    await see('line 3');
  });
  await run('a secret is replaced and never read', async () => {
    await visit(tab, `${server.url}/settings?tab=models`);
    await press('Replace');
    await tab.getByLabel('OPENAI_API_KEY').fill('sk-secret-value-9z8y');
    await press('Save secret');
    await see('ends in 9z8y');
    expect(!(await tab.content()).includes('sk-secret-value'), 'the secret is in the page');
  });
  await run('a viewer is refused', async () => {
    await set({ mode: 'full', role: 'viewer', signedIn: true });
    await visit(tab, `${server.url}/users`);
    await see('Needs owner; you are viewer.');
    await visit(tab, `${server.url}/delivery?id=o1`);
    expect(await tab.getByRole('button', { name: 'Retry send', exact: true }).isDisabled(), 'a viewer may retry');
  });
  await run('the last owner stays', async () => {
    await visit(tab, `${server.url}/users`);
    await see('Cannot be removed: Jo is the last owner.');
  });
  await run('a lost connection loses and doubles no row', async () => {
    await visit(tab, server.url);
    const { state } = server;
    const add = (id) => {
      state.data.turns.unshift({
        ...state.data.turns[0],
        id,
        seq: state.data.seq + 1,
        at: Date.now(),
        text: `turn ${id}`,
      });
      state.emit('turn_finished', id);
    };
    add('LIVE0001');
    await see('turn LIVE0001');
    for (const stream of state.streams) stream.destroy();
    await see('reconnecting');
    add('LIVE0002');
    add('LIVE0003');
    await tab.getByText('turn LIVE0003').first().waitFor({ timeout: 15_000 });
    for (const id of ['LIVE0001', 'LIVE0002', 'LIVE0003'])
      expect((await tab.locator('.row', { hasText: `turn ${id}` }).count()) === 1, `${id} is not there once`);
  });
  await run('following stops while reading', async () => {
    await visit(tab, server.url);
    await tab.locator('.row').nth(3).click();
    await see('paused');
    server.state.data.turns.unshift({
      ...server.state.data.turns[0],
      id: 'LIVE0009',
      seq: server.state.data.seq + 1,
      text: 'turn LIVE0009',
    });
    server.state.emit('turn_finished', 'LIVE0009');
    await see('1 new');
    expect((await tab.getByText('turn LIVE0009').count()) === 0, 'a row appears while reading');
    await tab.locator('#main').focus();
    await tab.keyboard.press('.');
    await see('turn LIVE0009');
  });
  await run('the palette opens a view', async () => {
    await visit(tab, server.url);
    await tab.keyboard.press('Control+k');
    await tab.keyboard.type('cluster');
    await tab.keyboard.press('Enter');
    await see('Rooms owned');
  });
  await run('Chinese and Spanish', async () => {
    for (const [name, text] of [
      ['简体中文', '投递'],
      ['Español', 'Entregas'],
    ]) {
      await visit(tab, server.url);
      await tab.locator('.header .button').last().click();
      await tab.getByRole('menuitem', { name }).click();
      await see(text);
    }
    await tab.evaluate(() => localStorage.clear());
  });
  await tab.context().close();
}
