import { beginRelay, relay } from '../lib/domain/events/relay.ts';
import type { WorkerPlatform } from '../lib/store/platform.ts';
import type { Handlers } from '../lib/store/queue/queue.ts';
import { announceReadJob } from './announce-read.ts';
import { announceTypingJob } from './announce-typing.ts';
import { convertImageJob } from './convert-image.ts';
import { crosspostMessageJob } from './crosspost-message.ts';
import { expireInteractionJob } from './expire-interaction.ts';
import { fetchPreviewsJob } from './fetch-previews.ts';
import { finishRemovalJob } from './finish-removal.ts';
import { postDeliveriesJob } from './post-deliveries.ts';
import { postInteractionJob } from './post-interaction.ts';
import { sendNoticeJob } from './send-notice.ts';
import { settleFilesJob } from './settle-files.ts';

/** The handler of each kind of job. Every job can run twice; the second run changes nothing. */
export const handlers: Handlers<WorkerPlatform> = {
  'relay-channel': (platform, { channelId }, following) => beginRelay(platform, 'channel', channelId, following),
  'relay-server': (platform, { serverId }) => relay(platform, 'server', serverId),
  'relay-account': (platform, { accountId }) => relay(platform, 'account', accountId),
  'relay-interaction': (platform, { interactionId }) => relay(platform, 'interaction', interactionId),
  'announce-typing': announceTypingJob,
  'announce-read': announceReadJob,
  'post-interaction': postInteractionJob,
  'expire-interaction': expireInteractionJob,
  'crosspost-message': crosspostMessageJob,
  'post-deliveries': postDeliveriesJob,
  'convert-image': convertImageJob,
  'finish-removal': finishRemovalJob,
  'send-notice': sendNoticeJob,
  'settle-files': settleFilesJob,
  'fetch-previews': fetchPreviewsJob,
};
