// The steps of the walk against the real program, each with what has to be seen at its end. The made-up
// Telegram and the made-up model are on this machine; the person who walks does everything in the page.

/** Every view with what stands there after the walk. */
const VIEWS = [
  ['/', 'following'],
  ['/traces', 'Traces'],
  ['/chat', 'New room'],
  ['/agents', 'Eliza'],
  ['/memory', 'Facts'],
  ['/memory?tab=people', 'Maria Lindqvist'],
  ['/memory?tab=rooms', 'Museum friends'],
  ['/knowledge', 'hours.md'],
  ['/delivery', 'Gave up'],
  ['/delivery?tab=sent', 'Sent'],
  ['/connectors', 'Telegram'],
  ['/usage', 'Usage'],
  ['/settings', 'LOG_LEVEL'],
  ['/settings?tab=models', 'OPENAI_API_KEY'],
  ['/settings?tab=health', 'Health'],
  ['/settings?tab=access', 'Pairing requests'],
  ['/settings?tab=plugins', 'bootstrap'],
  ['/cluster', 'SQLite'],
  ['/cluster?tab=logs', 'telegram'],
  ['/users', 'owner'],
  ['/users?tab=tokens', 'New token'],
  ['/users?tab=sessions', 'this browser'],
  ['/users?tab=audit', 'session.begin'],
];
const GROUP = { chat: -1001234567890, title: 'Museum friends', from: 7002, name: 'Jo Tanaka', user: 'jo' };

export async function walk({ program, telegram, model, page, visit, picture, step, complain, expecting, restart }) {
  const tab = await page();
  const see = (text) => tab.getByText(text, { exact: false }).first().waitFor();
  const gone = (text) => tab.getByText(text, { exact: false }).first().waitFor({ state: 'detached' });
  const press = (name) => tab.getByRole('button', { name, exact: true }).first().click();
  const row = (text) => tab.locator('.row', { hasText: text });
  const expect = (value, what) => {
    if (!value) throw new Error(what);
  };
  let link = '';

  await step('the link signs in, and the checklist stands there', tab, async () => {
    link = await program.link();
    await visit(tab, link);
    await see('following');
    expect(new URL(tab.url()).hash === '', 'the code stays in the address');
    for (const text of ['Connect a platform', 'Connect a model', 'Say hello']) await see(text);
    await picture(tab, 'first-run');
  });
  await step('a used link says so', tab, async () => {
    const other = await page();
    await expecting(401, async () => {
      await visit(other, link);
      await other.locator('.error-note').waitFor();
    });
    await other.context().close();
  });
  await step('chat answers, at most five clicks from the link', tab, async () => {
    await tab.getByRole('link', { name: /Say hello/ }).click();
    await tab.getByRole('textbox').fill('hello');
    await tab.keyboard.press('Enter');
    await tab.locator('.bubble.agent[data-state=done]').first().waitFor();
    expect((await tab.locator('.bubble.person').count()) === 1, 'the own message is there twice');
    expect((await tab.locator('.bubble.agent').count()) === 1, 'the answer is there twice');
    await tab.locator('.chat-rooms [aria-current=page]', { hasText: 'hello' }).waitFor();
    await picture(tab, 'chat');
  });
  await step('its trace says why it was answered', tab, async () => {
    await tab.locator('.bubble.agent .token').first().click();
    await tab.getByRole('link', { name: 'Open full trace' }).click();
    await tab.locator('.rules .decided').waitFor();
    await tab.locator('.wf-row').first().waitFor();
    await picture(tab, 'trace-offline');
  });
  await step('a wrong key of a model is refused, the right one answers', tab, async () => {
    await visit(tab, '/settings?tab=models&connect=1');
    await press('OpenAI');
    await tab.getByLabel('API key').fill('sk-wrong');
    await expecting('(4|5)\\d\\d', async () => {
      await press('Check and continue');
      await tab.locator('dialog .error-note').waitFor();
    });
    await tab.getByLabel('API key').fill(model.state.key);
    await expecting('(4|5)\\d\\d', async () => {
      await press('Check and continue');
      await see('answers with it');
    });
    await picture(tab, 'connect-model');
    await press('Close');
  });
  await step('the key can be read nowhere again', tab, async () => {
    await visit(tab, '/settings?tab=models');
    await see('OPENAI_API_KEY');
    expect(!(await tab.content()).includes(model.state.key), 'the key is in the page');
    const text = await tab.evaluate(async () => (await fetch('/api/v1/settings')).text());
    expect(!text.includes(model.state.key), 'the key is in the answer of the interface');
  });
  await step('a wrong token of Telegram is refused, the right one connects', tab, async () => {
    await visit(tab, '/connectors?add=1');
    await press('Telegram');
    await tab.getByLabel('Bot token').fill('1:wrong');
    await press('Check and continue');
    await tab.locator('dialog .error-note').waitFor();
    await picture(tab, 'connect-refused');
    await tab.getByLabel('Bot token').fill(telegram.token);
    await press('Check and continue');
    await see('acme_helper_bot');
    await picture(tab, 'connect-telegram');
    await press('Close');
  });
  await step('the first message of the platform appears by itself, once', tab, async () => {
    await visit(tab, '/');
    await see('following');
    telegram.say('When do you open on Sunday?');
    await row('When do you open on Sunday?').waitFor();
    await row('When do you open on Sunday?').locator('.chip', { hasText: '✓' }).waitFor();
    expect((await row('When do you open on Sunday?').count()) === 1, 'the row is there twice');
    await picture(tab, 'live');
  });
  await step('its trace has prompt, tokens and the send', tab, async () => {
    await row('When do you open on Sunday?').click();
    await tab.getByRole('link', { name: 'Open full trace' }).click();
    await tab.locator('.wf-row', { hasText: 'model' }).first().click();
    await tab.getByRole('tab', { name: 'Prompt' }).click();
    await see('When do you open on Sunday?');
    await picture(tab, 'trace');
  });
  await step('a silence says its reason', tab, async () => {
    await visit(tab, '/');
    telegram.say('lol', GROUP);
    await row('lol').waitFor();
    await row('lol').click();
    await tab.locator('.detail .rules .decided').waitFor();
    await see('does not address the agent');
    await picture(tab, 'ignored');
  });
  await step('a broken connector says so and is mended', tab, async () => {
    await visit(tab, '/connectors');
    telegram.refuse('getUpdates', 401, 'Unauthorized');
    await tab.locator('.connector', { hasText: 'Telegram' }).locator('.error-note').waitFor({ timeout: 60_000 });
    await picture(tab, 'connector-down');
    telegram.refuse();
    await tab.locator('.connector', { hasText: 'Telegram' }).getByRole('button', { name: 'Reconnect' }).click();
    await tab.locator('.connector', { hasText: 'Telegram' }).locator('.error-note').waitFor({ state: 'detached' });
  });
  await step('a send that gave up is tried again', tab, async () => {
    telegram.refuse('sendMessage', 403, 'Forbidden: bot was kicked from the supergroup chat');
    telegram.say('@acme_helper_bot are photos allowed?', GROUP);
    await visit(tab, '/delivery');
    await tab.locator('.row').first().waitFor({ timeout: 60_000 });
    await tab.locator('.row').first().click();
    await picture(tab, 'gave-up');
    telegram.refuse();
    const before = telegram.sent.length;
    await press('Retry send');
    await see('1 send is tried again.');
    for (let i = 0; i < 50 && telegram.sent.length === before; i += 1) await tab.waitForTimeout(200);
    expect(telegram.sent.length === before + 1, 'the send did not arrive once');
  });
  await step('an invalid character is refused, a valid one tried and saved', tab, async () => {
    await visit(tab, '/agents');
    await tab.getByRole('link', { name: 'Edit character' }).first().click();
    await press('JSON');
    const field = tab.getByLabel('Character as JSON');
    const text = await field.inputValue();
    await field.fill('{\n  "name": }');
    await see('line 2');
    const body = JSON.parse(text);
    await field.fill(JSON.stringify({ ...body, bio: 7 }, null, 2));
    await tab.locator('.remarks .bad').first().waitFor();
    await field.fill(JSON.stringify({ ...body, adjectives: ['warm', 'brief'] }, null, 2));
    await tab.locator('.remarks .bad').first().waitFor({ state: 'detached' });
    await tab.getByLabel('Ask the draft').fill('When do you open?');
    await tab.keyboard.press('Enter');
    await see('We open at nine');
    await picture(tab, 'editor');
    await tab.getByRole('button', { name: /^Save v/ }).click();
    await press('Save character');
    await see('The next turn uses it.');
  });
  await step('a document is added and asked', tab, async () => {
    await visit(tab, '/knowledge');
    const buffer = Buffer.from(
      '# Hours\n\nThe museum opens at nine.\n\n# Tours\n\nThe guided tour begins at eleven.\n',
    );
    await tab.locator('input[type=file]').setInputFiles({ name: 'hours.md', mimeType: 'text/markdown', buffer });
    await see('hours.md');
    await tab.locator('.record', { hasText: 'hours.md' }).locator('.chip', { hasText: 'ready' }).waitFor();
    await tab.getByRole('textbox', { name: 'Question' }).fill('When does the guided tour begin?');
    await press('Find passages');
    await see('begins at eleven');
    await picture(tab, 'knowledge');
  });
  for (const [path, text] of VIEWS)
    await step(`view ${path}`, tab, async () => {
      await visit(tab, path);
      await see(text);
      if ((await tab.getByText('does not offer').count()) > 0) complain(`${path}: a part is not offered`);
      await picture(tab, `view${path.replace(/\W+/g, '-')}`);
    });
  for (const [theme, width] of [
    ['dark', 1440],
    ['light', 390],
    ['dark', 390],
  ])
    await step(`the main views, ${theme}, ${width} px`, tab, async () => {
      const other = await page({ theme, width });
      await visit(other, await program.link());
      const question = other.locator('.row', { hasText: 'When do you open on Sunday?' });
      await question.waitFor();
      const take = async (name) => {
        const wide = await other.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
        if (wide > 0) complain(`${name}, ${theme}, ${width} px: ${wide} px stick out`);
        await picture(other, `${name}-${theme}-${width}`);
      };
      await take('live');
      await question.click();
      // A narrow page opens the trace itself.
      if (width > 768) await other.getByRole('link', { name: 'Open full trace' }).click();
      await other.locator('.wf-row').first().waitFor();
      await take('trace');
      for (const path of ['/agents', '/settings', '/chat']) {
        await visit(other, path);
        if (path === '/chat') await other.locator('.chat-rooms a', { hasText: 'hello' }).click();
        await other.waitForTimeout(300);
        await take(path.slice(1));
      }
      await other.context().close();
    });
  await step('an agent is paused and runs again', tab, async () => {
    await visit(tab, '/agents');
    await press('Pause agent');
    await tab.getByRole('button', { name: 'Resume agent' }).waitFor();
    await press('Resume agent');
    await tab.getByRole('button', { name: 'Pause agent' }).waitFor();
  });
  await step('a viewer is refused', tab, async () => {
    await visit(tab, '/users');
    await press('Invite a person');
    await tab.getByLabel('Name').fill('vera');
    await press('Make invite link');
    const invite = await tab.locator('dialog pre').first().textContent();
    const other = await page();
    await visit(other, invite.trim());
    await other.getByText('following').first().waitFor();
    await expecting(403, () => visit(other, '/users'));
    await other.getByText('Needs owner; you are viewer.').first().waitFor();
    await visit(other, '/agents');
    expect(await other.getByRole('button', { name: 'Pause agent' }).isDisabled(), 'a viewer may pause an agent');
    await other.context().close();
  });
  await step('a token is shown once and revoked', tab, async () => {
    await visit(tab, '/users?tab=tokens');
    await press('New token');
    await tab.getByLabel('Name').fill('reader');
    await press('Make token');
    const secret = (await tab.locator('dialog pre').first().textContent()).trim();
    expect(secret.startsWith('galatea_'), 'no secret is shown');
    await press('Close');
    await visit(tab, '/users?tab=tokens');
    await see('reader');
    expect(!(await tab.content()).includes(secret), 'the secret is in the page again');
    const asks = () => fetch(`${program.url}/api/v1/agents`, { headers: { authorization: `Bearer ${secret}` } });
    expect((await asks()).ok, 'the token does not sign in');
    await press('Revoke token');
    await tab.getByRole('dialog').getByRole('button', { name: 'Revoke token' }).click();
    await see('The token is revoked.');
    expect((await asks()).status === 401, 'a revoked token signs in');
  });
  await step('a restart loses and doubles no row', tab, async () => {
    await visit(tab, '/');
    await see('following');
    await restart();
    telegram.say('Is the lift open?');
    await row('Is the lift open?').waitFor({ timeout: 60_000 });
    await see('following');
    for (const text of ['When do you open on Sunday?', 'Is the lift open?', 'lol'])
      expect((await row(text).count()) === 1, `“${text}” is not there once`);
    await gone('Cannot reach Galatea');
  });
}
