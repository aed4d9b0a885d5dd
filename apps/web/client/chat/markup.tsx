import { useComputed, useSignal } from '@preact/signals';
import { Copy } from 'lucide';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { parseMarkup, type Token } from '../../../../lib/base/markup.ts';
import { nameOf } from '../../state/people.ts';
import { channels, servers } from '../../state/servers.ts';
import { myId } from '../../state/session.ts';
import { IconButton } from '../../ui/button.tsx';
import { copyText } from '../../ui/clipboard.ts';
import { isSafeLink } from '../../ui/links.ts';
import { safeLinkText } from '../../ui/safe-text.ts';
import { pathOf } from '../channel-context.ts';
import { openProfile } from '../people/open-profile.ts';
import { useMembers } from '../people/use-member.ts';
import './markup.css';
import { channelNameOf, customEmojiText, isEmojiOnly, roleNameOf } from './markup-text.ts';
import { colorOf, roleStyle } from './name.tsx';

/**
 * Renders a message content with the parser that the server uses. It creates only elements and never inserts HTML from the content. `serverId` is the server
 * of its mentions. With `pingsEveryone`, `@everyone` and `@here` look like mentions; without it they notify nobody and look like other text.
 */
export function Markup({
  content,
  serverId,
  pingsEveryone = false,
}: {
  content: string;
  serverId: string | null;
  pingsEveryone?: boolean;
}): JSX.Element {
  const tokens = useMemo(() => parseMarkup(content), [content]);
  const classes = ['markup', isEmojiOnly(tokens) && 'large', pingsEveryone && 'pings-everyone'];
  return <div class={classes.filter(Boolean).join(' ')}>{renderTokens(tokens, serverId)}</div>;
}

const renderTokens = (tokens: readonly Token[], serverId: string | null): JSX.Element[] =>
  tokens.map((token, at) => {
    // A block already ends its line, so the line break after it would show as an empty line.
    const isAfterBlock = token.type === 'text' && tokens[at - 1]?.type === 'codeblock';
    const shown = isAfterBlock ? { ...token, text: token.text.replace(/^\n/, '') } : token;
    return <Piece key={token.start} token={shown} serverId={serverId} />;
  });

function Piece({ token, serverId }: { token: Token; serverId: string | null }): JSX.Element {
  switch (token.type) {
    case 'text':
      return <>{token.text}</>;
    case 'bold':
      return <strong>{renderTokens(token.children, serverId)}</strong>;
    case 'italic':
      return <em>{renderTokens(token.children, serverId)}</em>;
    case 'underline':
      return <u>{renderTokens(token.children, serverId)}</u>;
    case 'strike':
      return <s>{renderTokens(token.children, serverId)}</s>;
    case 'spoiler':
      return <Spoiler>{renderTokens(token.children, serverId)}</Spoiler>;
    case 'code':
      return <code>{token.text}</code>;
    case 'codeblock':
      return <CodeBlock lang={token.lang} text={token.text} />;
    case 'link':
      return <Link url={token.url} />;
    case 'userMention':
      return <UserMention id={token.id} serverId={serverId} />;
    case 'roleMention':
      return <RoleMention id={token.id} serverId={serverId} />;
    case 'channelMention':
      return <ChannelMention id={token.id} />;
    case 'everyone':
      return <span class="everyone">@{token.kind}</span>;
    case 'emoji':
      return <span class="custom-emoji">{customEmojiText(token.name)}</span>;
  }
}

/** A spoiler. Its content is not on the page at all until the user opens it. */
function Spoiler({ children }: { children: ComponentChildren }): JSX.Element {
  const open = useSignal(false);
  const ref = useRef<HTMLSpanElement>(null);
  useEffect(() => ref.current?.focus({ preventScroll: true }), [open.value]);
  if (open.value)
    return (
      <span class="spoiler" tabIndex={-1} ref={ref}>
        {children}
      </span>
    );
  return (
    <button type="button" class="spoiler-cover" onClick={() => (open.value = true)}>
      Spoiler<span class="visually-hidden">: show</span>
    </button>
  );
}

function CodeBlock({ lang, text }: { lang: string; text: string }): JSX.Element {
  return (
    <div class="code-block">
      {lang !== '' && <span class="code-lang">{lang}</span>}
      <IconButton of={Copy} label="Copy code" onClick={() => void copyText(text, 'the code')} />
      {/* A long line scrolls; `tabIndex` makes that possible by keyboard. */}
      <pre tabIndex={0}>
        <code>{text}</code>
      </pre>
    </div>
  );
}

const commit = /^\/([^/]+\/[^/]+)\/(?:-\/)?commit\/([0-9a-f]{7})[0-9a-f]{0,57}$/;

/** Returns the path and name of the channel that a link of this service leads to, if the user can see it. */
function channelLinkOf(url: URL): { href: string; text: string } | undefined {
  if (url.origin !== location.origin) return undefined;
  const channelId = /^\/servers\/\d+\/(\d+)$/.exec(url.pathname)?.[1];
  const channel = channels.value.get(channelId ?? '');
  if (!channel) return undefined;
  return { href: url.pathname + url.search, text: `#${channel.name}${url.searchParams.has('message') ? ' › message' : ''}` };
}

/** A link from a message: only http and https, with its target visible. */
export function Link({ url, children }: { url: string; children?: ComponentChildren }): JSX.Element {
  if (!isSafeLink(url)) return <>{children ?? url}</>;
  const parsed = new URL(url);
  const own = channelLinkOf(parsed);
  if (own)
    return (
      <a class="mention" href={own.href}>
        <bdi>{own.text}</bdi>
      </a>
    );
  const [, project, hash] = commit.exec(parsed.pathname) ?? [];
  return (
    <a
      href={parsed.href}
      target="_blank"
      rel="noopener noreferrer nofollow"
      title={children || project ? safeLinkText(parsed.href) : undefined}
    >
      {children ?? <bdi>{project ? `${parsed.host}/${project}@${hash}` : safeLinkText(url)}</bdi>}
    </a>
  );
}

function UserMention({ id, serverId }: { id: string; serverId: string | null }): JSX.Element {
  const name = useComputed(() => nameOf(id));
  const color = useComputed(() => colorOf(serverId, id));
  useMembers(serverId, [id]);
  return (
    <button
      type="button"
      class={`mention ${id === myId() ? 'me' : ''} ${color.value ? 'colored' : ''}`}
      style={roleStyle(color.value)}
      onClick={() => openProfile(id, serverId)}
    >
      @<bdi>{name.value}</bdi>
    </button>
  );
}

/** A link to a channel by its name. A channel that the user may not see is unknown, and no link. */
function ChannelMention({ id }: { id: string }): JSX.Element {
  const name = <bdi>#{channelNameOf(id)}</bdi>;
  if (!channels.value.has(id)) return <span class="mention">{name}</span>;
  return (
    <a class="mention" href={pathOf(id)}>
      {name}
    </a>
  );
}

function RoleMention({ id, serverId }: { id: string; serverId: string | null }): JSX.Element {
  if (id === serverId) return <span class="everyone">@everyone</span>;
  const server = servers.value.get(serverId ?? '');
  const color = server?.roles.find((role) => role.id === id)?.color;
  return (
    <span class={`mention ${server?.myRoles.includes(id) ? 'me' : ''} ${color ? 'colored' : ''}`} style={roleStyle(color)}>
      @<bdi>{roleNameOf(serverId, id)}</bdi>
    </span>
  );
}
