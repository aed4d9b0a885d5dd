import { limits } from '../../base/limits.ts';

/** The text that explains the archive to the person who opens it. */
export const readme = `This archive has the data that Parlance stores about your account.

account.json          Your account: names, profile, status, the devices that are logged in, how you log in, and the applications that you own.
servers.json          The servers that you are in, when you joined them, and your roles there.
direct-messages.json  With whom you have direct messages.
reads.json            The last message that you have read in each channel.
messages/             The messages that you wrote, in all servers and direct messages, in a file for each month (UTC). A month with more than
                      ${limits.exportMessagesPerFile.toLocaleString('en')} messages has several files. "file" of an attachment is its name in this archive. The name of a channel is null
                      if you can no longer see the channel.
files/                The files that you attached to messages, your avatar, and the icons of your applications. Images are as they are shown.
                      A name begins with the id of the attachment. Characters that some systems do not allow in names are replaced by _.
summary.json          How many messages and files there are. "missingFiles" were deleted while the archive was made. "filesLeftOut" had no
                      room in it: it has at most ${limits.exportFiles.toLocaleString('en')} files.

The files ending in .json are text in the format JSON. Any text editor and most programming languages can read them. Times are in UTC.

Not in this archive: messages of other people, passwords and tokens, your reactions, and the commands that you used in the last days.
`;
