/** Texts of the demo server. Links are written as `<…>`, so that a start fetches no previews from other sites. */
export const texts = {
  rules: `**Welcome.** Three rules:
1. Be kind.
2. Say what you mean, and ask when you don't know.
3. Don't post secrets in a public channel, such as a webhook URL or a bot token.

This is the server's *rules channel*. Every Community server has one. Only the owner can post here.`,
  news: `__News__: this channel is for **announcements**. Other servers can follow it, and every published message is copied to them.`,
  welcome: `**This is the demo server.** You can change everything in it. What you delete stays deleted.
- Type \`/\` and choose a command of the Demo Bot.
- This channel has a pinned message, a thread and some reactions.
- See \`#formatting\` for text formatting and \`#code\` for messages from a code host.`,
  greeting: 'Hi <@{person}>! I am **Ada**, and I joined with an invite. You can log in as me: my password is in the terminal.',
  answer: 'Hello <@{guest}>, welcome!',
  botCard: {
    title: 'Commands of the Demo Bot',
    description: 'Type `/` and choose one of these.',
    color: 0x3b82f6,
    fields: [
      { name: '/hello', value: 'answers at once', inline: true },
      { name: '/roll', value: 'takes a whole number', inline: true },
      { name: '/remind', value: 'reminds you later', inline: true },
      { name: '/think', value: 'thinks first', inline: true },
      { name: '/secret', value: 'only you see the answer', inline: true },
      { name: '/ids', value: 'shows IDs for your own bot', inline: true },
    ],
    footer: { text: 'This is an embed. Bots and webhooks can post them.' },
  },
  thread: 'A thread keeps a conversation together. It is archived after a day without messages; a new message reopens it.',
  inThread: 'And the channel stays tidy. 👍',
  formatting: `**bold** \`**bold**\`
*italic* \`*italic*\`
__underline__ \`__underline__\`
~~strike~~ \`~~strike~~\`
||spoiler|| \`||spoiler||\`
a link without a preview: <https://example.org/>
shown literally with a backslash: \\*not italic\\*`,
  codeBlock: `A block of code:
\`\`\`js
const { url } = await (await fetch(base + '/api/gateway')).json();
const socket = new WebSocket(url + '?v=1');
\`\`\``,
  direct: 'This is a direct message. Only you and I can read it.',
};

const repository = {
  id: 1,
  name: 'garden',
  full_name: 'ada/garden',
  html_url: 'https://git.example.org/ada/garden',
  default_branch: 'main',
};
const sender = { id: 1, login: 'ada', html_url: 'https://git.example.org/ada' };
const [before, first, second] = [
  '3f786850e387550fdab836ed7e6dc881de23001b',
  '89e6c98d92887913cadf06b2adb97f26cde4849b',
  '2b66fd261ee5c6cfc8de7fa466bab600bcfe4f69',
];

const commit = (id: string, message: string): object => ({
  id,
  message,
  url: `${repository.html_url}/commit/${id}`,
  author: { name: 'Ada', username: 'ada' },
});

/** A push in the format of a code host, written for the demo. */
export const push = {
  ref: 'refs/heads/main',
  before,
  after: second,
  forced: false,
  compare: `${repository.html_url}/compare/${before}...${second}`,
  commits: [commit(first, 'Water the tomatoes at dawn'), commit(second, 'Count the bees\n\nThere are more than last year.')],
  pusher: { name: 'ada' },
  repository,
  sender,
};

/** An opened pull request in the format of a code host, written for the demo. */
export const pullRequest = {
  action: 'opened',
  number: 7,
  pull_request: {
    id: 7,
    number: 7,
    title: 'Fix the hinge of the gate',
    body: 'It squeaks. Oil helps for a week; this is the real repair.',
    html_url: `${repository.html_url}/pulls/7`,
    user: sender,
    draft: false,
    merged: false,
    head: { ref: 'hinge', sha: first },
    base: { ref: 'main', sha: second },
    additions: 15,
    deletions: 4,
    changed_files: 3,
  },
  repository,
  sender,
};
