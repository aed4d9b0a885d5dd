import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { PickerCommand } from '../../../../lib/contract/command.ts';
import { type ApiError, asApiError, call, path, query as queryString } from '../../api/call.ts';
import { findMembers, hasMoreMembers, loadMembers } from '../../state/people.ts';
import type { Place } from '../place.ts';
import type { Query } from './completion-query.ts';
import { channelsFor, commandsFor, emojisFor, mentionsFor, type Suggestion } from './completion-sources.tsx';
import { type Emoji, loadEmojis } from './emojis.ts';

/** How long after the last key press the service is asked, in milliseconds. */
const restMs = 120;

/** Loads the commands that can be used in a channel and whose name contains `wanted`. Throws `ApiError`. */
export const findCommands = (channelId: string, wanted: string, signal?: AbortSignal): Promise<PickerCommand[]> =>
  call('GET', path`/api/channels/${channelId}/commands` + queryString({ q: wanted }), undefined, signal ? { signal } : {});

/** Loads the members of a server once. If that fails, they are not suggested. */
export const readMembers = ({ serverId }: Place): void => {
  if (serverId) loadMembers(serverId).catch(() => undefined);
};

/** The suggestions of the completion, and the state of loading them. */
export interface Offer {
  items: Suggestion[];
  busy: boolean;
  fault: ApiError | null;
}

/** Returns the suggestions for a query. Emoji and members are loaded when they are first needed; commands are loaded again after each key press. */
export function useOffer(place: Place, query: Query | null): Offer {
  const emojis = useSignal<readonly Emoji[]>([]);
  const commands = useSignal<readonly PickerCommand[] | null>(null);
  const fault = useSignal<ApiError | null>(null);
  const sign = query?.sign;
  const wanted = query?.wanted ?? '';
  useEffect(() => {
    fault.value = null;
    if (sign === '@') readMembers(place);
    if (sign === ':')
      loadEmojis().then(
        (list) => {
          emojis.value = list;
        },
        () => undefined,
      );
    if (sign !== '/') commands.value = null;
  }, [sign]);
  useEffect(() => {
    const { serverId } = place;
    if (sign !== '@' || wanted === '' || serverId === null || !hasMoreMembers(serverId)) return undefined;
    const stop = new AbortController();
    const rest = setTimeout(() => void findMembers(serverId, wanted, stop.signal).catch(() => undefined), restMs);
    return () => {
      clearTimeout(rest);
      stop.abort();
    };
  }, [sign, wanted]);
  useEffect(() => {
    if (sign !== '/') return undefined;
    const stop = new AbortController();
    const ask = (): void =>
      void findCommands(place.channelId, wanted, stop.signal).then(
        (found) => {
          fault.value = null;
          commands.value = found;
        },
        (error: unknown) => {
          if (!stop.signal.aborted) fault.value = asApiError(error);
        },
      );
    const rest = setTimeout(ask, commands.value ? restMs : 0);
    return () => {
      clearTimeout(rest);
      stop.abort();
    };
  }, [sign, wanted]);
  const items = (): Suggestion[] => {
    switch (sign) {
      case '@':
        return mentionsFor(place, wanted);
      case '#':
        return channelsFor(place, wanted);
      case ':':
        return emojisFor(emojis.value, wanted);
      case '/':
        return commandsFor(commands.value ?? [], wanted);
      default:
        return [];
    }
  };
  return {
    items: items(),
    busy: sign === '/' && commands.value === null && fault.value === null,
    fault: sign === '/' ? fault.value : null,
  };
}
