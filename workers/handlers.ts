import { runExport } from '../lib/domain/exports/work.ts';
import { decideMessageFiles } from '../lib/domain/files/files.ts';
import { convertImage } from '../lib/domain/files/image-conversion.ts';
import { announceRead, announceTyping } from '../lib/domain/jobs/announcements.ts';
import { copyToNextFollowers } from '../lib/domain/jobs/crosspost-copies.ts';
import { postInteraction } from '../lib/domain/jobs/endpoint-delivery.ts';
import { finishRemoval } from '../lib/domain/jobs/finish-removal.ts';
import { expireUnanswered } from '../lib/domain/jobs/interactions.ts';
import { sendNotice } from '../lib/domain/members/notices.ts';
import { resumeCrosspost } from '../lib/domain/messages/crossposts.ts';
import { fetchPreviews } from '../lib/domain/previews/previews.ts';
import { relayEvents, startRelay } from '../lib/domain/relay/relay.ts';
import { postDeliveries } from '../lib/domain/webhooks/delivery-posting.ts';
import type { WorkerPlatform } from '../lib/store/platform.ts';
import type { Handlers } from '../lib/store/queue/queue.ts';
import type { WakeHandlers } from '../lib/store/redis/wakes.ts';
import { imageEncoder } from './image-encoder.ts';

/** The handler of each kind of job (docs/operations.md#queues). Every job can run twice; the second run changes nothing. */
export const handlers: Handlers<WorkerPlatform> = {
  'relay-interaction': (platform, { interactionId }) => relayEvents(platform, 'interaction', interactionId),
  'deliver-interaction': (platform, { interactionId }) => relayEvents(platform, 'interaction', interactionId),
  'post-interaction': (platform, { interactionId }) => postInteraction(platform, interactionId),
  'expire-interaction': (platform, { interactionId }) => expireUnanswered(platform, interactionId),
  'crosspost-server': (platform, { serverId }) => copyToNextFollowers(platform, serverId),
  'crosspost-message': (platform, { messageId, channelId }) => resumeCrosspost(platform, messageId, channelId),
  'post-deliveries': (platform, { webhookId }) => postDeliveries(platform, webhookId),
  'convert-image': (platform, { fileId }) => convertImage(platform, fileId, imageEncoder.encode),
  'finish-removal': (platform, { removalId }) => finishRemoval(platform, removalId),
  'send-notice': (platform, { noticeId }) => sendNotice(platform, noticeId),
  'settle-files': (platform, { messageId }) => decideMessageFiles(platform, messageId),
  'fetch-previews': (platform, { messageId, channelId }) => fetchPreviews(platform, messageId, channelId),
  'export-account': (platform, { exportId }) => runExport(platform, exportId),
};

/** The handler of each kind of work that is done on wakes (docs/delivery.md#wakes). It can run twice; the second run changes nothing. */
export const wakeHandlers: WakeHandlers<WorkerPlatform> = {
  'relay-channel': (platform, { channelId }, state, payloads) => startRelay(platform, 'channel', channelId, { state, payloads }),
  'relay-server': (platform, { serverId }) => startRelay(platform, 'server', serverId),
  'relay-account': (platform, { accountId }) => relayEvents(platform, 'account', accountId),
  'relay-interaction': (platform, { interactionId }) => startRelay(platform, 'interaction', interactionId),
  'announce-typing': announceTyping,
  'announce-read': announceRead,
};
