/** The fields of a plain text message as it is stored, but for its ids and time: for benches and tests that write many by hand. */
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
