// The steps of the walk against the real program, each with what has to be seen at its end.

/** Every view with what stands there in a fresh installation. */
const VIEWS = [
  ['/', 'following'],
  ['/traces', 'Traces'],
  ['/chat', 'Ask Eliza something'],
  ['/agents', 'Eliza'],
  ['/memory', 'Facts'],
  ['/memory?tab=people', 'maria'],
  ['/memory?tab=rooms', 'Terminal of maria'],
  ['/knowledge', 'Knowledge'],
  ['/delivery', 'Gave up'],
  ['/delivery?tab=sent', 'Sent'],
  ['/connectors', 'Terminal'],
  ['/usage', 'Usage'],
  ['/settings', 'Settings'],
  ['/settings?tab=health', 'Health'],
  ['/settings?tab=access', 'Settings'],
  ['/settings?tab=plugins', 'Settings'],
  ['/cluster', 'Cluster'],
  ['/cluster?tab=logs', 'Cluster'],
  ['/users', 'owner'],
  ['/users?tab=tokens', 'Tokens'],
  ['/users?tab=sessions', 'this browser'],
  ['/users?tab=audit', 'session.begin'],
];

export async function walk({ program, page, visit, picture, step, complain, expecting }) {
  const tab = await page();
  const see = (text) => tab.getByText(text, { exact: false }).first().waitFor();
  const press = (name) => tab.getByRole('button', { name, exact: true }).first().click();
  const expect = (value, what) => {
    if (!value) throw new Error(what);
  };
  let link = '';

  await step('the link signs in, once', tab, async () => {
    link = await program.link();
    await visit(tab, link);
    await see('following');
    expect(new URL(tab.url()).hash === '', 'the code stays in the address');
    await see('Connect a platform');
    await picture(tab, 'first-run');
  });
  await step('a used link says so', tab, async () => {
    const other = await page();
    await expecting(401, async () => {
      await visit(other, link);
      await other.getByText('galatea', { exact: false }).first().waitFor();
    });
    await other.context().close();
  });
  await step('a message appears by itself', tab, async () => {
    await visit(tab, '/');
    await see('following');
    await program.say('what is a tide?', 'maria');
    await tab.locator('.row', { hasText: 'what is a tide?' }).waitFor();
    expect((await tab.locator('.row', { hasText: 'what is a tide?' }).count()) === 1, 'the row is there twice');
  });
  await step('its trace says why it was answered', tab, async () => {
    await tab.locator('.row', { hasText: 'what is a tide?' }).click();
    await tab.getByRole('link', { name: 'Open full trace' }).click();
    await see('direct messages are open to everyone');
    await tab.locator('.wf-row').first().waitFor();
    await picture(tab, 'trace');
  });
  for (const [path, text] of VIEWS)
    await step(`view ${path}`, tab, async () => {
      await visit(tab, path);
      await see(text);
      if ((await tab.getByText('does not offer').count()) > 0) complain(`${path}: a part is not offered`);
      await picture(tab, `view${path.replace(/\W+/g, '-')}`);
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
  await step('a message is forgotten', tab, async () => {
    await visit(tab, '/memory');
    await tab.locator('.row').first().click();
    await press('Forget');
    const sure = tab.getByRole('dialog').getByRole('button', { name: /Forget/ });
    if (await sure.count()) await sure.click();
    await tab.waitForTimeout(300);
  });
}
