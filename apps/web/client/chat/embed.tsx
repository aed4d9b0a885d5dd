import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import type { EmbedView } from '../../../../lib/contract/embed.ts';
import { ownPath } from '../../ui/links.ts';
import { shortMomentOf } from '../../ui/times.ts';
import './embed.css';
import { Link, Markup } from './markup.tsx';
import { plainText } from './markup-text.ts';

const colorText = (color: number): string => `#${color.toString(16).padStart(6, '0')}`;

/** The pause before an image is requested again, in milliseconds. The proxy asks for a retry after 2 s. */
const retryMs = 2_500;

/**
 * An external image, loaded through the proxy of this service. Its size is not known, so its box has a fixed size. A failed image is requested once more,
 * because the proxy may have been busy; after a second failure its box is removed.
 */
function ProxiedImage({ url, class: name }: { url: string; class: string }): JSX.Element {
  const failures = useRef(0);
  const retry = (image: HTMLImageElement): void => {
    if (failures.current++ > 0) return image.classList.add('gone');
    setTimeout(() => image.setAttribute('src', image.src), retryMs);
  };
  return (
    <img class={name} src={ownPath(url)} alt="" loading="lazy" decoding="async" onError={({ currentTarget }) => retry(currentTarget)} />
  );
}

/** A rich embed of a bot or webhook, or the preview of a link. */
export function EmbedCard({ embed, serverId }: { embed: EmbedView; serverId: string | null }): JSX.Element {
  const { title, description, url, color, timestamp, author, footer, image, thumbnail, fields = [] } = embed;
  return (
    <div class="embed" style={color === undefined ? undefined : { borderInlineStartColor: colorText(color) }}>
      <div class="embed-text">
        {author && (
          <p class="embed-author">
            {author.proxyIconUrl && <ProxiedImage url={author.proxyIconUrl} class="embed-icon" />}
            {author.url ? (
              <Link url={author.url}>
                <bdi>{author.name}</bdi>
              </Link>
            ) : (
              <bdi>{author.name}</bdi>
            )}
          </p>
        )}
        {title && (
          <div class="embed-title">
            {url ? (
              <Link url={url}>
                <bdi>{plainText(title, serverId)}</bdi>
              </Link>
            ) : (
              <Markup content={title} serverId={serverId} />
            )}
          </div>
        )}
        {description && <Markup content={description} serverId={serverId} />}
        {fields.length > 0 && (
          <dl class="embed-fields">
            {fields.map(({ name, value, inline }, index) => (
              <div key={index} class={inline ? 'inline' : ''}>
                <dt>
                  <Markup content={name} serverId={serverId} />
                </dt>
                <dd>
                  <Markup content={value} serverId={serverId} />
                </dd>
              </div>
            ))}
          </dl>
        )}
      </div>
      {thumbnail && <ProxiedImage url={thumbnail.proxyUrl} class="embed-thumbnail" />}
      {image && <ProxiedImage url={image.proxyUrl} class="embed-image" />}
      {(footer || timestamp) && (
        <p class="embed-footer hint">
          {footer && <bdi>{footer.text}</bdi>}
          {footer && timestamp && ' · '}
          {timestamp && <time dateTime={timestamp}>{shortMomentOf(timestamp)}</time>}
        </p>
      )}
    </div>
  );
}
