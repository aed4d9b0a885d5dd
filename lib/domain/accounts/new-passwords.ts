import { refuseField } from '../../base/errors.ts';
import { foldCase } from '../../base/text.ts';

/**
 * The most common passwords of 8 characters and more, in the lists of passwords from many leaks that people publish each year, in lower case. Whoever guesses
 * passwords tries these first. Shorter ones are refused by their length.
 */
const commonPasswords: ReadonlySet<string> = new Set(
  `00000000 01234567 0123456789 0987654321 10101010 11111111 111111111 1111111111 11223344 1122334455 11235813 12121212 12312312 123123123 1231231234
  12341234 1234554321 1234567! 12345678 123456789 1234567890 12345678910 123456789a 1234567a 1234567q 12345679 1234abcd 1234qwer 123abc123 123qweasd
  123qweasdzxc 13131313 147258369 14725836 147852369 159357456 159753456 18436572 19841984 1a2b3c4d 1q2w3e4r 1q2w3e4r5t 1q2w3e4r5t6y 1qaz2wsx 1qaz2wsx3edc
  1qazxsw2 1password 20202020 20232023 20242024 20252025 22222222 33333333 321321321 44444444 55555555 55667788 66666666 741852963 77777777 789456123
  78945612 87654321 88888888 963852741 98765432 987654321 9876543210 99999999 a1b2c3d4 a1234567 a12345678 a123456789 aa123456 aa12345678 abc12345 abc123456
  abcd1234 abcdefgh abcdefghi access14 admin123 admin1234 admin12345 administrator adminadmin alexander anthony1 apple123 asdasdasd asdf1234 asdfasdf
  asdfghjk asdfghjkl asdfjkl; asdzxc123 babygirl baseball baseball1 basketball beautiful blink182 brooklyn butterfly caroline changeme charlie1 charlotte
  chelsea1 chocolate christian christine computer consumer corvette cowboys1 danielle december default1 dragon123 einstein elephant eminem12 fernando
  first123 flower123 football football1 forever1 freedom1 friends1 fuckyou1 fuckyou2 garfield google123 guest123 hahahaha hannah01 harley01 harrypotter
  hello123 hello1234 hellohello heslo1234 hunter12 iloveyou iloveyou! iloveyou1 iloveyou2 iloveyou123 internet jennifer jessica1 jonathan jordan23 justin01
  kristina lasvegas letmein1 letmein! letmein123 liverpool liverpool1 login123 loveme123 lovelove maverick mercedes michael1 michelle midnight minecraft
  mohammed monkey12 monkey123 mustang1 mypassword naruto123 nicholas ninja123 november omgpop12 p@55w0rd p@ssw0rd p@ssword p@ssword1 pa55word pa55w0rd
  passpass passw0rd passw0rd1 password password! password0 password00 password01 password1 password1! password10 password11 password12 password123
  password123! password1234 password2 password3 password99 passwort passwort1 patricia password. pokemon1 pokemon123 princess princess1 q1w2e3r4 q1w2e3r4t5
  q1w2e3r4t5y6 qazwsx12 qazwsxedc qwer1234 qwerasdf qwert123 qwert12345 qwerty12 qwerty123 qwerty1234 qwerty12345 qwerty123456 qwertyui qwertyuiop
  qwertyuiop123 qwertz123 qwertzui qwertzuiop rockyou1 samantha samsung1 scorpion secret12 secret123 september shadow12 shadow123 snoopy12 soccer12
  softball spiderman spiderman1 starwars starwars1 steelers sunshine sunshine1 superman superman1 superstar sweetheart target123 test1234 test12345 testtest
  thomas12 tinkerbell trustno1 undertaker vanessa1 victoria welcome1 welcome12 welcome123 welcome1! welkom01 whatever william1 xxxxxxxx1 yamaha123 yankees1
  yourpassword zag12wsx zaq12wsx zaq1zaq1 zaq1xsw2 zxcvbnm1 zxcvbnm123 zxcvbnm, zxcvbnma zxc12345 zxcasdqwe`.split(/\s+/),
);

/** Refuses `invalid_request` at `field` for a new password that is the username or one of the most common ones, whatever its case and width. */
export function requireNewPassword(password: string, username: string, field: string): void {
  const folded = foldCase(password.normalize('NFKC'));
  if (folded === foldCase(username)) refuseField(field, 'Your username is too easy to guess as a password. Choose another one.');
  if (commonPasswords.has(folded)) refuseField(field, 'This is one of the most common passwords and easy to guess. Choose another one.');
}
