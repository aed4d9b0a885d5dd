/** The stored fields of a plain text message, except its ids and time: for benches and tests that insert many messages directly. */
export const plainMessage = {
  embeds: [],
  attachments: [],
  mentions: [],
  mentionRoles: [],
  mentionEveryone: false,
  replyTo: null,
  interaction: null,
  editedAt: null,
};
