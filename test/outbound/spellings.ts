/** The step that refuses a URL. */
type Refusing = 'url' | 'dns';

const hosts = (step: Refusing, names: readonly string[]): [string, Refusing][] => names.map((host) => [`http://${host}:PORT/`, step]);

/** Hosts refused at `step`, by kind, separated by spaces. */
const splitHosts = (kinds: Readonly<Record<string, string>>, step: Refusing = 'url'): [string, Refusing][] =>
  hosts(step, Object.values(kinds).join(' ').split(' '));

const loopback4 = splitHosts({
  'short, as one number, with a final dot': '127.0.0.1 127.1 127.0.1 127.0x1 127.255.255.254 2130706433 127.0.0.1.',
  hexadecimal: '0x7f000001 0x000000007f000001 0X7F.1 0x7f.0x0.0x0.0x1 0x7f.000.000.001 127.0.0.0x1',
  octal: '017700000001 0177.0.0.1 00000177.0.0.1 0177.0x0.0.1 127.0.0.01',
  escaped: '%31%32%37.0.0.1 127%2e0%2e0%2e1 127%E3%80%820%E3%80%820%E3%80%821 %EF%BC%91%EF%BC%92%EF%BC%97.0.0.1',
  'in characters that a URL parser maps to digits or dots':
    '１２７.０.０.１ １２７．０．０．１ １２７。１ ０ｘ７ｆ．１ ①②⑦.⓪.⓪.① ¹²⁷.⁰.⁰.¹ ₁₂₇.₀.₀.₁ 𝟏𝟐𝟕.𝟎.𝟎.𝟏 127。0。0。1 127．0．0．1 127｡0｡0｡1',
  'with characters that a URL parser maps to nothing': '127\u200b.0.0.1 127\u00ad.0.0.1 127\u2060.0.0.1 127\ufe0f.0.0.1 127\ufeff.0.0.1',
});

const other4 = splitHosts({
  'this network': '0 1 0.1 0.0.0.0 0x0 0.255.255.255',
  private:
    '10.0.0.1 10.1 012.1 ⑩.0.0.1 167772161 172.16.0.1 172.31.255.255 172.1048577 192.168.0.1 192.168.1 0300.0250.0.1 0xc0a80001 3232235521',
  'link-local, with the metadata address of cloud providers':
    '169.254.169.254 169.254.43518 0251.0376.0251.0376 0xA9.0xFE.0xA9.0xFE 0xa9fea9fe 2852039166',
  'carrier-grade NAT': '100.64.0.1 100.127.255.255 100.100.100.200',
  'protocol assignments, documentation, 6to4 relays, benchmarking':
    '192.0.0.1 192.0.0.170 192.0.0.255 192.0.2.1 192.88.99.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1',
  'multicast, reserved, broadcast': '224.0.0.1 233.252.0.1 239.255.255.255 240.0.0.1 255.255.255.255 4294967295 0xffffffff',
});

const six = splitHosts({
  'unspecified and loopback': '[::] [::1] [::2] [0:0:0:0:0:0:0:1] [0:0:0:0:0:0:0:0001] [0000:0000::0001]',
  'mapped IPv4': '[::ffff:127.0.0.1] [::ffff:7f00:1] [::FFFF:7F00:1] [0:0:0:0:0:ffff:127.0.0.1] [0000:0000:0000:0000:0000:ffff:7f00:0001]',
  'mapped, also of public addresses': '[::ffff:a9fe:a9fe] [::ffff:8.8.8.8]',
  compatible: '[::127.0.0.1] [::7f00:1] [::a9fe:a9fe] [::8.8.8.8]',
  'translated and NAT64':
    '[::ffff:0:127.0.0.1] [64:ff9b::127.0.0.1] [64:ff9b::7f00:1] [64:FF9B::10.0.0.1] [64:ff9b::8.8.8.8] [64:ff9b:1::1]',
  '6to4, Teredo, ISATAP':
    '[2002:7f00:1::] [2002:7f00:0001::1] [2002:a9fe:a9fe::] [2002:a00:1::] [2001::1] [2001:0:4136:e378:8000:63bf:3fff:fdd2] [2001:0:a9fe:a9fe::] [fe80::5efe:127.0.0.1]',
  'discard, protocol assignments, benchmarking, relays, ORCHID, documentation':
    '[100::1] [100:0:0:1::1] [2001:1::1] [2001:2::1] [2001:3::1] [2001:4:112::1] [2001:5::1] [2001:10::1] [2001:20::1] [2001:30::1] [2001:db8::1] [2620:4f:8000::1] [3fff::1]',
  'not assigned': '[1fff::1] [4000::1] [5f00::1] [8000::1]',
  'unique local, link-local, site-local, multicast':
    '[fc00::1] [fd00:ec2::254] [fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff] [fe80::1] [febf::1] [fec0::1] [feff::1] [ff00::] [ff02::1] [ff05::2]',
});

/** Invalid hosts. A more lenient parser would read an address in most of them. */
const invalid = [
  ...hosts('url', [' 127.0.0.1', '127 .0.0.1', '']),
  ...splitHosts({
    brackets:
      '[fe80::1%25eth0] [fe80::1%lo] [::1%25lo] [127.0.0.1] [::ffff:127.1] [::ffff:0x7f.1] [::1 [::1]. [%3a%3a1] %5b::1%5d ［::1］ [：：1]',
    'behind an address':
      '127.0.0.1%00 127.0.0.1%09 127.0.0.1%20 127.0.0.1%0d%0a 127.0.0.1%2f.example.com 127.0.0.1%23.example.com 127.0.0.1%3f.example.com 127.0.0.1%5c.example.com 127.0.0.1\0 localhost%00',
    other: '127\u200d.0.0.1 १२७.0.0.1 127.0.0.256 256.0.0.1 4294967296 0x100000000 1.1.1.1.1 example.1 example.0x7f xn-- xn--a .',
  }),
];

/** Names that resolve to loopback, or could. */
const names = splitHosts(
  {
    localhost:
      'localhost LOCALHOST LocalHost localhost. localhost%2e localhost。 localhost.localdomain ⓛocalhost ⅼocalhost ｌｏｃａｌｈｏｓｔ loca\u00adlhost a.localhost _localhost ip6-localhost',
    other:
      'lo%63alhost 127.0.0.1.. 127.0.0.1-example 127.0.0.1.nip.example 127.0.0.1;1 0x7f000001.example ١٢٧.٠.٠.١ bücher.example xn--bcher-kva.example faß.example',
  },
  'dns',
);

/** URLs with unusual parts other than the host. */
const urls: [string, Refusing][] = [
  // user info
  ['http://@127.0.0.1:PORT/', 'url'],
  ['http://@example.com:PORT/', 'dns'],
  ['http://user@example.com:PORT/', 'url'],
  ['http://user:pass@example.com:PORT/', 'url'],
  ['http://:pass@example.com:PORT/', 'url'],
  ['http://127.0.0.1@example.com:PORT/', 'url'],
  ['http://example.com@127.0.0.1:PORT/', 'url'],
  ['http://example.com@@127.0.0.1:PORT/', 'url'],
  ['http://example.com:PORT@127.0.0.1:PORT/', 'url'],
  ['http://example.com%40127.0.0.1:PORT/', 'url'],
  ['http://example.com#@127.0.0.1:PORT/', 'dns'],
  ['http://example.com?@127.0.0.1:PORT/', 'dns'],
  ['http://127.0.0.1:PORT#@example.com/', 'url'],
  // ports
  ['http://127.0.0.1:000PORT/', 'url'],
  ['http://127.0.0.1:65536/', 'url'],
  ['http://127.0.0.1:-1/', 'url'],
  ['http://127.0.0.1:PORT:PORT/', 'url'],
  ['http://127.0.0.1: PORT/', 'url'],
  // slashes, tabs and newlines
  ['http:127.0.0.1:PORT/', 'url'],
  ['http:/127.0.0.1:PORT/', 'url'],
  ['http:///127.0.0.1:PORT/', 'url'],
  ['http:////127.0.0.1:PORT/', 'url'],
  ['http:/\\127.0.0.1:PORT/', 'url'],
  ['http:\\\\127.0.0.1:PORT\\', 'url'],
  ['http://127.0.0.1:PORT\\@example.com/', 'url'],
  ['http://example.com\\@127.0.0.1:PORT/', 'dns'],
  ['http://example.com\\.127.0.0.1:PORT/', 'dns'],
  ['http://\t127.0.\n0.1:PORT/', 'url'],
  ['http://127.0.0.1\r\n:PORT/', 'url'],
  ['\r\nhttp://127.0.0.1:PORT/', 'url'],
  [' http://127.0.0.1:PORT/ ', 'url'],
  ['\0http://127.0.0.1:PORT/', 'url'],
  ['ht\ntp://127.0.0.1:PORT/', 'url'],
  ['hTtP://127.0.0.1:PORT/', 'url'],
  // other schemes, no scheme, and invalid URLs
  ['ftp://example.com/', 'url'],
  ['file:///etc/passwd', 'url'],
  ['data:text/html,hello', 'url'],
  ['javascript:1', 'url'],
  ['blob:http://127.0.0.1:PORT/', 'url'],
  ['gopher://127.0.0.1:PORT/', 'url'],
  ['ws://example.com/', 'url'],
  ['http+unix://%2ftmp%2fsocket/', 'url'],
  ['//127.0.0.1:PORT/', 'url'],
  ['\\\\127.0.0.1:PORT/', 'url'],
  ['127.0.0.1:PORT', 'url'],
  ['http:PORT', 'url'],
  ['https:', 'url'],
  [`http://example.com/${'a'.repeat(9_000)}`, 'url'],
  ['', 'url'],
];

/** URLs that must not reach the site on loopback whose port replaces `PORT`, with the step that refuses each when every name resolves to loopback. */
export const spellings: readonly (readonly [url: string, step: Refusing])[] = [
  ...loopback4,
  ...other4,
  ...six,
  ...invalid,
  ...names,
  ...urls,
];
