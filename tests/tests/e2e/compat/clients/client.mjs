// elizaOS's typed client, by npm's @elizaos/api-client 1.7.2.
import assert from 'node:assert/strict';
import { ApiError, ElizaClient } from '@elizaos/api-client';

const { URL: url, KEY: key, AGENT: agent, ADA: ada } = process.env;
const client = ElizaClient.create({ baseUrl: url, apiKey: key });

const { agents } = await client.agents.listAgents();
assert.equal(agents[0].id, agent);
assert.equal((await client.agents.getAgent(agent)).status, 'active');
assert.ok((await client.messaging.listMessageServers()).messageServers.length > 0);
const channel = await client.messaging.getOrCreateDmChannel({ participantIds: [ada, agent] });
assert.equal((await client.messaging.getChannelDetails(channel.id)).type, 'DM');
assert.deepEqual((await client.messaging.getChannelParticipants(channel.id)).sort(), [ada, agent].sort());

const session = await client.sessions.createSession({ agentId: agent, userId: ada });
const said = await client.sessions.sendMessageSync(session.sessionId, { content: 'Q2, please' }).catch((error) => error);
// The client returns `data` of an envelope; this answer has none, in elizaOS too.
assert.equal(said, undefined);
const { messages } = await client.sessions.getMessages(session.sessionId);
assert.deepEqual(messages.map((message) => message.content), ['A2', 'Q2, please']);
assert.ok((await client.sessions.listSessions()).total > 0);
assert.equal((await client.sessions.checkHealth()).status, 'healthy');

assert.equal(await client.jobs.ask(ada, 'Q3, please', agent, { interval: 200 }), 'A3');
assert.ok((await client.jobs.health()).statusCounts.completed > 0);
assert.ok((await client.jobs.list()).jobs.length > 0);

const memories = await client.memory.getAgentMemories(agent);
assert.ok(memories.memories.some((memory) => memory.content.text === 'A3'));
assert.ok((await client.memory.listAgentRooms(agent)).rooms.length > 0);
assert.ok((await client.runs.listRuns(agent, { limit: 2 })).runs.length === 2);
assert.equal((await client.server.ping()).pong, true);
assert.equal((await client.server.getStatus()).status, 'ok');

await assert.rejects(client.agents.getAgent('x'), (error) => error instanceof ApiError && error.code === 'INVALID_ID');
const stranger = ElizaClient.create({ baseUrl: url });
await assert.rejects(stranger.agents.listAgents(), ApiError);
await client.messaging.clearChannelHistory(channel.id);
console.log('api-client: all held');
process.exit(0);
