// foldback in OpenCode: before each request, a preset decides what of the conversation is sent. OpenCode's store stays whole.
//
// OpenCode does not survive a hook that fails. So where anything fails here, the messages stay as they are, and OpenCode's own
// compaction goes on.
import { Followed, declared } from 'foldback/plugin';
import { marksOf, fromModel, toModel } from './messages.js';

export default async function foldback({ client }, { preset } = {}) {
  /** The conversations, by their sessions. */
  const followed = new Map();
  const tools = new Map();
  let providers;

  const log = (level, message) => client.app.log({ body: { service: 'foldback', level, message } }).catch(() => {});

  /** The limits of a model. */
  const limitsOf = async ({ providerID, modelID }) => {
    providers ??= (await client.config.providers()).data.providers;
    const { context, output } = providers.find(({ id }) => id === providerID)?.models[modelID]?.limit ?? {};
    return { window: context || undefined, maxOutput: output || undefined };
  };

  /** The tools that a model is offered in a session. */
  const toolsOf = async (session, { providerID, modelID }) => {
    const key = `${session} ${providerID} ${modelID}`;
    if (!tools.has(key)) {
      const [{ data: all = [] }, { data: about }] = await Promise.all([
        client.tool.list({ query: { provider: providerID, model: modelID } }),
        client.session.get({ path: { id: session } }),
      ]);
      // A call that can't be read is answered by `invalid`; some tools are not for every session.
      const rules = (about?.permission ?? []).filter(({ pattern, action }) => pattern === '*' && action === 'deny');
      const denied = new Set(['invalid', ...rules.map(({ permission }) => permission)]);
      const offered = all.filter(({ id }) => !denied.has(id));
      tools.set(key, offered.map(({ id, ...tool }) => declared({ name: id, ...tool })));
    }
    return tools.get(key);
  };

  /** The conversation of a session: a new one from its beginning, once the system prompt is known. */
  const conversationOf = (session) => {
    const known = followed.get(session);
    if (known !== undefined && known.counted === (known.system !== undefined)) return known;
    const made = { conversation: new Followed(preset), system: known?.system, counted: known?.system !== undefined };
    followed.set(session, made);
    return made;
  };

  const fold = async (messages) => {
    const asked = messages.findLast(({ info }) => info.role === 'user')?.info;
    if (asked === undefined) return;
    const all = messages.flatMap(toModel);
    const { conversation, system } = conversationOf(asked.sessionID);
    const beside = { system, tools: await toolsOf(asked.sessionID, asked.model) };
    const sent = conversation.fold(all, marksOf(all), await limitsOf(asked.model), beside);
    if (conversation.isNew) log('info', conversation.told);
    // The array itself is what OpenCode goes on with.
    messages.splice(0, messages.length, ...fromModel(sent, new Set(all), messages));
  };

  return {
    'experimental.chat.messages.transform': async (_, { messages }) => {
      try {
        await fold(messages);
      } catch (wrong) {
        followed.clear();
        log('error', `nothing is folded: ${wrong.message}`);
      }
    },
    // The system prompt comes after the messages, so a request is counted with that of the one before. Titles and summaries
    // are asked for with shorter ones.
    'experimental.chat.system.transform': async ({ sessionID }, { system }) => {
      const [known, text] = [followed.get(sessionID), system.join('\n')];
      if (known !== undefined && text.length > (known.system?.length ?? 0)) known.system = text;
    },
  };
}
