/** The words of the page, in English and Vietnamese. */

const en = {
  title: "Tiến lên",
  subtitle: "Thirteen, the card game of Vietnam",
  newGame: "New game",
  playNow: "Play now",
  more: "More: seats, rounds, pace",
  other: "Other screens",
  groupLearn: "Learn",
  groupCompete: "Compare",
  groupLook: "Look",
  fourColours: "Four colours for the suits",
  continue: "Continue",
  watch: "Watch a game",
  explorer: "Explorer",
  play: "Play",
  pass: "Pass",
  hint: "Hint",
  undo: "Undo",
  sortRank: "Sort by rank",
  sortSuit: "Sort by suit",
  settings: "Settings",
  close: "Close",
  back: "Back",
  rules: "Rules",
  players: "Players",
  seat: "Seat {0}",
  you: "You",
  person: "A person",
  player: "Player {0}",
  rounds: "Length",
  wholeGame: "A game: rounds to the target",
  oneRound: "One round",
  manyRounds: "{0} rounds",
  noEnd: "Until you stop",
  endGame: "End the game",
  roundNumber: "Round",
  allRounds: "All rounds",
  pace: "Pace",
  slow: "slow",
  fast: "fast",
  language: "Language",
  theme: "Colours",
  auto: "automatic",
  light: "light",
  dark: "dark",
  autoPass: "Pass for me when nothing can be played",
  where: "Where",
  inPage: "In this page",
  onServer: "On the server",
  yourTurn: "Your turn",
  turnOf: "{0} is to play",
  leads: "{0} leads",
  youLead: "You lead: play any combination",
  must: "The play must contain {0}",
  passed: "passed",
  passes: "{0} passes",
  played: "{0} plays {1}",
  playedHere: "played",
  cardsLeft: "{0} cards",
  cardLeft: "1 card",
  points: "{0} points",
  point: "1 point",
  units: "{0} units",
  unit: "{0} unit",
  roundOver: "Round {0} is over",
  gameOver: "The game is over",
  winner: "{0} wins the game",
  youWin: "You win the game",
  nextRound: "Next round",
  waitsForOthers: "Waiting for the others",
  handTo: "Hand the device to {0}",
  showHand: "Show my cards",
  spectators: "Spectators",
  lastResult: "Last result",
  example: "An example",
  plays: "Plays of this round",
  thisTrick: "On the table now",
  before: "Before that, the latest first",
  toTheEnd: "Skip to the end of the round",
  remove: "Delete",
  removeReally: "Delete this game?",
  leadsNext: "{0} leads the next round",
  place: "Place",
  lastRound: "Last round",
  score: "Points",
  total: "Total",
  first: "1st",
  second: "2nd",
  third: "3rd",
  fourth: "4th",
  nth: "{0}th",
  table: "Table",
  emptyTable: "The table is empty",
  yourHand: "Your hand",
  cardBack: "hidden card",
  moves: "Moves",
  legalMoves: "Legal moves",
  hintTitle: "What the champion would play",
  hintSearch: "What the search expects",
  hintNone: "No agent here gives advice for these rules",
  lost: "The connection is lost; trying again",
  scoreHelp: "Double tap: play what is selected, or pass",
  keys: "Keys: ← → choose, space selects, enter plays, p passes, h hint, z undo",
  invite: "Links for other people",
  inviteHelp: "Open one on another screen to take that seat, or to watch.",
  copy: "Copy",
  copied: "Copied",
  record: "Record",
  openExplorer: "Open in the explorer",
  recordPaste: "Paste a record",
  recordLoad: "Load a file",
  recordShow: "Show",
  badRecord: "This record cannot be read: {0}",
  line: "line {0}: {1}",
  link: "Link to this position",
  firstStep: "Start",
  prev: "Previous",
  nextStep: "Next",
  last: "End",
  seeFrom: "Seen from",
  everything: "All hands",
  analyse: "Analyse the round",
  analysing: "Analysing {0} of {1}",
  stop: "Stop",
  exact: "(exact)",
  probability: "Champion",
  expected: "Expected points (95 %)",
  expectedPaid: "Expected payments (95 %)",
  losses: "Largest losses",
  playFrom: "Play on from here",
  otherPlayers: "The other players",
  duplicate: "Replay with the {1} in seat {0}",
  duplicateTitle: "The same deal in this seat: {0} as played; {1} with the {2}",
  graph: "Expected points over the round",
  graphPaid: "Expected payments over the round",
  move: "Move",
  pause: "Pause",
  resume: "Resume",
  speed: "Speed",
  step: "Step",
  loading: "Loading",
  error: "Error: {0}",
  declare: "Declare the instant win",
  mustDeclare: "You have an instant win: declare it",
  declares: "{0} declares an instant win",
  end: "No more melds",
  melds: "{0} melds {1}",
  meldsNothing: "{0} ends the melds",
  starter: "Suit to follow: {0}",
  aside: "Goes to the winner of the trick",
  toMeld: "{0} may meld these",
  took: "{0} took the trick",
  ahead: "{0} is ahead",
  tricks: "{0} tricks",
  trick: "1 trick",
  leadCard: "You lead: play any card that is not dimmed",
  paid: "Balance",
  pays: "{0} pays {2} to {1} ({3})",
  chop: "chopped",
  chopNow: "Chop!",
  sound: "Sounds",
  cong: "no card played",
  held_twos: "2s in hand",
  held_bombs: "bombs in hand",
  cards: "cards in hand",
  instant: "instant win",
  last_two: "ended on a 2",
  last_three: "the last 3 of spades",
  stake: "a stake to the first",
  rules_cardgames: "As on cardgames.io",
  rules_mobile: "As in a mobile app",
  rules_foicica: "As in the program foicica",
  rules_pagat: "As on pagat.com",
  rules_south: "South of Vietnam",
  rules_south_count: "South of Vietnam, cards counted",
  rules_north: "North of Vietnam",
  rules_south_winner: "South of Vietnam, the first takes all",
  rules_bga: "As on Board Game Arena",
  rules_mini: "Few cards: mini",
  rules_small: "Few cards: small",
  rules_medium: "Few cards: medium",
  rules_large: "Few cards: large",
  rules_thirteens: "Thirteens",
  rules_thirteens_manual: "Thirteens, melds by hand",
  rules_thirteens_dummy: "Thirteens with a dummy",
  rules_thirteens_dummy_manual: "Thirteens with a dummy, melds by hand",
  game_tienlen: "Tiến lên",
  game_thirteens: "Thirteens",
  random: "random",
  greedy: "greedy",
  greedy_long: "greedy, longest first",
  trickster: "trickster",
  heuristic: "heuristic",
  champion: "champion",
  search: "search",
  round: "Round {0}",
  thinking: "thinking",
  notLegal: "This is not a legal play",
  allRules: "All rules",
  games: "Games",
  won: "Won",
  meanPoints: "Points a game",
  noGames: "No games yet.",
  unfinished: "unfinished",
  look: "Look",
  learn: "Learn from mistakes",
  judging: "The search looks at your plays:",
  accuracy: "{0} of your {1} decisions were as good as the best, as far as the search can tell",
  allSeen: "Those were the plays that were clearly worse than the best.",
  noMistakes: "No play was clearly worse than the best.",
  fine: "Good: the search sees nothing better.",
  costs: "This costs {0} points.",
  costsUnits: "This costs {0} units.",
  bestPlay: "Best, says the search:",
  youPlayed: "You played",
  whatNow: "What would you play now?",
  challenge: "Ten deals with the champion",
  deal: "Deal",
  challengeTask: "The champion plays the same deal in your seat.",
  soFar: "So far: {0} you, {1} the champion.",
  difference: "You less the champion, points a deal: {0} ± {1} (95 %). A friend can play the same ten deals:",
  playThis: "Play this instead",
  branch: "branch",
  lesson: "Lesson",
  well: "Well done.",
  notYet: "Not that one.",
  lessonOver: "That is all you need: play a game.",
  puzzles: "Puzzles",
  puzzle: "Puzzle {0}",
  dailyPuzzle: "Puzzle of the day",
  puzzleTask: "Exactly one play wins. Which one?",
  puzzleRight: "Right: this is the only play that wins.",
  puzzleWrong: "No: the other player can win now.",
  otherHolds: "All other cards are played; the other hand is open.",
  answer: "The winning play:",
  rated: "rated {0}",
  yourRating: "Your rating: {0}",
  streak: "In a row: {0} (best {1})",
  solvedOf: "{0} of {1} solved",
  nextPuzzle: "Next puzzle",
  yourName: "Your name, for other people",
  returnToServer: "Back to my table on the server",
  rematch: "Play again, same people",
  plainHttp: "The connection is not encrypted: anyone who reads the traffic of this network sees the hands.",
  onlyHere: "Only this machine can reach this server. For other machines start it with: tienlen web --host",
  qrCode: "QR code of the link",
  standsIn: "for {0}",
  loadingAgents: "Loading the agents: {0} %",
  tryAgain: "Try again",
  aboutTable: "About this table",
  nothingBeats: "Nothing you hold beats this: pass",
  yourGames: "Your games",
  pair: "a pair",
  triple: "three of a kind",
  quad: "four of a kind",
  run: "a run",
  "double sequence": "a double sequence",
  "triple sequence": "a triple sequence",
  "quad sequence": "a quad sequence",
  suited: "{0} in one suit",
  away: "away",
  worlds: "Deals that the search samples",
  noSeat: "This link opens no seat on this server.",
  noToken: "The address lacks the token of this server: ask for the whole link.",
  language_en: "English",
  language_vi: "Tiếng Việt",
};
export type Key = keyof typeof en;

const vi: Record<Key, string> = {
  title: "Tiến lên",
  subtitle: "Trò chơi bài của Việt Nam",
  newGame: "Chơi mới",
  playNow: "Chơi ngay",
  more: "Thêm: người chơi, số ván, tốc độ",
  other: "Các trang khác",
  groupLearn: "Học",
  groupCompete: "So tài",
  groupLook: "Xem",
  fourColours: "Bốn màu cho bốn chất",
  continue: "Chơi tiếp",
  watch: "Xem máy đánh",
  explorer: "Phân tích",
  play: "Đánh",
  pass: "Bỏ lượt",
  hint: "Gợi ý",
  undo: "Đi lại",
  sortRank: "Xếp theo số",
  sortSuit: "Xếp theo chất",
  settings: "Cài đặt",
  close: "Đóng",
  back: "Quay lại",
  rules: "Luật",
  players: "Người chơi",
  seat: "Ghế {0}",
  you: "Bạn",
  person: "Người khác",
  player: "Người chơi {0}",
  rounds: "Độ dài",
  wholeGame: "Nhiều ván đến điểm đích",
  oneRound: "Một ván",
  manyRounds: "{0} ván",
  noEnd: "Đến khi bạn nghỉ",
  endGame: "Kết thúc",
  roundNumber: "Ván",
  allRounds: "Các ván",
  pace: "Tốc độ",
  slow: "chậm",
  fast: "nhanh",
  language: "Ngôn ngữ",
  theme: "Giao diện",
  auto: "tự động",
  light: "sáng",
  dark: "tối",
  autoPass: "Tự bỏ lượt khi không đánh được",
  where: "Nơi chơi",
  inPage: "Trong trang này",
  onServer: "Trên máy chủ",
  yourTurn: "Đến lượt bạn",
  turnOf: "Đến lượt {0}",
  leads: "{0} ra bài",
  youLead: "Bạn ra bài: đánh bộ nào cũng được",
  must: "Phải có lá {0}",
  passed: "bỏ lượt",
  passes: "{0} bỏ lượt",
  played: "{0} đánh {1}",
  playedHere: "đã đánh",
  cardsLeft: "{0} lá",
  cardLeft: "1 lá",
  points: "{0} điểm",
  point: "1 điểm",
  units: "{0} đơn vị",
  unit: "{0} đơn vị",
  roundOver: "Hết ván {0}",
  gameOver: "Trò chơi kết thúc",
  winner: "{0} thắng",
  youWin: "Bạn thắng",
  nextRound: "Ván tiếp",
  waitsForOthers: "Đang chờ người khác",
  handTo: "Đưa máy cho {0}",
  showHand: "Xem bài của tôi",
  spectators: "Người xem",
  lastResult: "Kết quả ván trước",
  example: "Ví dụ",
  plays: "Các lượt đánh của ván này",
  thisTrick: "Vòng này",
  before: "Trước đó, lượt mới nhất trước",
  toTheEnd: "Đến hết ván",
  remove: "Xoá",
  removeReally: "Xoá cuộc này?",
  leadsNext: "{0} ra bài ván sau",
  place: "Hạng",
  lastRound: "Ván cuối",
  score: "Điểm",
  total: "Tổng",
  first: "Nhất",
  second: "Nhì",
  third: "Ba",
  fourth: "Tư",
  nth: "Hạng {0}",
  table: "Bàn",
  emptyTable: "Bàn trống",
  yourHand: "Bài của bạn",
  cardBack: "lá úp",
  moves: "Các nước",
  legalMoves: "Các nước hợp lệ",
  hintTitle: "Cao thủ sẽ đánh",
  hintSearch: "Điểm mà máy tính ra",
  hintNone: "Luật này không có gợi ý",
  lost: "Mất kết nối; đang thử lại",
  scoreHelp: "Chạm hai lần: đánh các lá đã chọn, hoặc bỏ lượt",
  keys: "Phím: ← → di chuyển, cách để chọn, enter để đánh, p bỏ lượt, h gợi ý, z đi lại",
  invite: "Liên kết cho người khác",
  inviteHelp: "Mở trên màn hình khác để ngồi vào ghế, hoặc để xem.",
  copy: "Sao chép",
  copied: "Đã sao chép",
  record: "Bản ghi",
  openExplorer: "Xem trong phần phân tích",
  recordPaste: "Dán bản ghi",
  recordLoad: "Mở tệp",
  recordShow: "Xem",
  badRecord: "Không đọc được bản ghi: {0}",
  line: "dòng {0}: {1}",
  link: "Liên kết đến thế bài này",
  firstStep: "Đầu",
  prev: "Trước",
  nextStep: "Tiếp",
  last: "Cuối",
  seeFrom: "Nhìn từ",
  everything: "Bài của mọi người",
  analyse: "Phân tích cả ván",
  analysing: "Đang phân tích {0} trên {1}",
  stop: "Dừng",
  exact: "(chính xác)",
  probability: "Cao thủ",
  expected: "Điểm kỳ vọng (95 %)",
  expectedPaid: "Số đơn vị kỳ vọng (95 %)",
  losses: "Mất nhiều nhất",
  playFrom: "Chơi tiếp từ đây",
  otherPlayers: "Những người chơi khác",
  duplicate: "Đánh lại với {1} ở ghế {0}",
  duplicateTitle: "Cùng ván bài ở ghế này: {0} như đã đánh; {1} với {2}",
  graph: "Điểm kỳ vọng trong ván",
  graphPaid: "Số đơn vị kỳ vọng trong ván",
  move: "Nước",
  pause: "Dừng",
  resume: "Tiếp",
  speed: "Tốc độ",
  step: "Từng nước",
  loading: "Đang tải",
  error: "Lỗi: {0}",
  declare: "Báo tới trắng",
  mustDeclare: "Bạn được tới trắng: hãy báo",
  declares: "{0} tới trắng",
  end: "Thôi hạ phỏm",
  melds: "{0} hạ {1}",
  meldsNothing: "{0} thôi hạ",
  starter: "Chất phải theo: {0}",
  aside: "Thuộc về người ăn vòng này",
  toMeld: "{0} hạ phỏm từ các lá này",
  took: "{0} ăn vòng này",
  ahead: "{0} đang cao nhất",
  tricks: "{0} vòng",
  trick: "1 vòng",
  leadCard: "Bạn ra bài: đánh lá nào không mờ cũng được",
  paid: "Đơn vị",
  pays: "{0} trả {2} cho {1} ({3})",
  chop: "bị chặt",
  chopNow: "Chặt!",
  sound: "Âm thanh",
  cong: "cóng",
  held_twos: "thối heo",
  held_bombs: "thối hàng",
  cards: "lá còn lại",
  instant: "tới trắng",
  last_two: "về bằng heo",
  last_three: "ba bích cuối",
  stake: "tiền bàn cho người nhất",
  rules_cardgames: "Như trên cardgames.io",
  rules_mobile: "Như một ứng dụng di động",
  rules_foicica: "Như chương trình foicica",
  rules_pagat: "Như trên pagat.com",
  rules_south: "Miền Nam",
  rules_south_count: "Miền Nam, đếm lá",
  rules_north: "Miền Bắc",
  rules_south_winner: "Miền Nam, nhất ăn tất",
  rules_bga: "Như trên Board Game Arena",
  rules_mini: "Ít lá: mini",
  rules_small: "Ít lá: small",
  rules_medium: "Ít lá: medium",
  rules_large: "Ít lá: large",
  rules_thirteens: "Thirteens",
  rules_thirteens_manual: "Thirteens, tự hạ phỏm",
  rules_thirteens_dummy: "Thirteens có nhà ảo",
  rules_thirteens_dummy_manual: "Thirteens có nhà ảo, tự hạ phỏm",
  game_tienlen: "Tiến lên",
  game_thirteens: "Thirteens",
  random: "ngẫu nhiên",
  greedy: "tham lam",
  greedy_long: "tham lam, bộ dài trước",
  trickster: "trickster",
  heuristic: "lão luyện",
  champion: "cao thủ",
  search: "tính toán",
  round: "Ván {0}",
  thinking: "đang nghĩ",
  notLegal: "Nước này không hợp lệ",
  allRules: "Luật đầy đủ",
  games: "Số cuộc",
  won: "Thắng",
  meanPoints: "Điểm mỗi cuộc",
  noGames: "Chưa có cuộc chơi nào.",
  unfinished: "chưa xong",
  look: "Xem",
  learn: "Học từ lỗi",
  judging: "Đang xem các nước của bạn:",
  accuracy: "{0} trong {1} quyết định của bạn tốt như nước hay nhất, theo máy tính toán",
  allSeen: "Đó là các nước kém hẳn nước hay nhất.",
  noMistakes: "Không nước nào kém hẳn nước hay nhất.",
  fine: "Tốt: máy không thấy nước nào hay hơn.",
  costs: "Nước này mất {0} điểm.",
  costsUnits: "Nước này mất {0} đơn vị.",
  bestPlay: "Nước tốt nhất theo máy tính:",
  youPlayed: "Bạn đã đánh",
  whatNow: "Bây giờ bạn đánh gì?",
  challenge: "Mười ván với cao thủ",
  deal: "Ván",
  challengeTask: "Cao thủ cũng đánh ván này ở ghế của bạn.",
  soFar: "Đến giờ: bạn {0}, cao thủ {1}.",
  difference: "Bạn hơn cao thủ, điểm mỗi ván: {0} ± {1} (95 %). Bạn bè có thể đánh mười ván này:",
  playThis: "Đánh nước này",
  branch: "nhánh",
  lesson: "Bài học",
  well: "Đúng rồi.",
  notYet: "Chưa đúng.",
  lessonOver: "Vậy là đủ: hãy chơi một ván.",
  puzzles: "Thế bài",
  puzzle: "Thế bài {0}",
  dailyPuzzle: "Thế bài hôm nay",
  puzzleTask: "Chỉ có một nước thắng. Nước nào?",
  puzzleRight: "Đúng: đây là nước thắng duy nhất.",
  puzzleWrong: "Không: bây giờ người kia thắng được.",
  otherHolds: "Các lá khác đã đánh hết; bài của người kia để ngửa.",
  answer: "Nước thắng:",
  rated: "độ khó {0}",
  yourRating: "Điểm của bạn: {0}",
  streak: "Liên tiếp: {0} (cao nhất {1})",
  solvedOf: "giải được {0} trên {1}",
  nextPuzzle: "Thế bài tiếp",
  yourName: "Tên bạn, cho người khác thấy",
  returnToServer: "Về bàn của tôi trên máy chủ",
  rematch: "Chơi lại, cùng những người này",
  plainHttp: "Kết nối không được mã hoá: ai đọc được mạng này thì thấy bài.",
  onlyHere: "Chỉ máy này vào được máy chủ. Để máy khác vào được, hãy chạy: tienlen web --host",
  qrCode: "Mã QR của liên kết",
  standsIn: "đánh thay {0}",
  loadingAgents: "Đang tải người chơi máy: {0} %",
  tryAgain: "Thử lại",
  aboutTable: "Về bàn chơi này",
  nothingBeats: "Bạn không có bài nào chặn được: hãy bỏ lượt",
  yourGames: "Lịch sử chơi",
  pair: "đôi",
  triple: "sám cô",
  quad: "tứ quý",
  run: "sảnh",
  "double sequence": "đôi thông",
  "triple sequence": "sám thông",
  "quad sequence": "tứ thông",
  suited: "{0} đồng chất",
  away: "vắng mặt",
  worlds: "Số lần chia bài mà máy thử",
  noSeat: "Liên kết này không mở ghế nào trên máy chủ này.",
  noToken: "Địa chỉ thiếu mã của máy chủ: hãy xin liên kết đầy đủ.",
  language_en: "English",
  language_vi: "Tiếng Việt",
};

export type Language = "en" | "vi";
const texts: Record<Language, Record<Key, string>> = { en, vi };
export const isLanguage = (value: unknown): value is Language => value === "en" || value === "vi";
let current: Language = "en";

/** The language of the browser, if the page has it. */
export const browserLanguage = (): Language =>
  navigator.languages.map((tag) => tag.slice(0, 2)).find((tag): tag is Language => tag in texts) ?? "en";

/** A longer text in all languages. */
export type Words = Record<Language, string>;
export const words = (en: string, vi: string): Words => ({ en, vi });
export const say = (text: Words): string => text[current];
export const isVietnamese = (): boolean => current === "vi";

export function setLanguage(language: Language): void {
  current = language;
  document.documentElement.lang = language;
}

// English verbs have another form for the reader, who is named like all others: "heuristic 2 plays", "You play".
const VERBS: Record<string, string> = {
  is: "are",
  passes: "pass",
  plays: "play",
  pays: "pay",
  melds: "meld",
  leads: "lead",
  declares: "declare",
  ends: "end",
};
const forYou = (text: string): string =>
  text
    .replace(/^You (\w+)/, (whole, verb: string) => (VERBS[verb] ? `You ${VERBS[verb]}` : whole))
    .replace(" to You ", " to you ");

/** A text with its arguments filled in. */
export const t = (key: Key, ...values: (string | number)[]): string => {
  const text = texts[current][key].replace(/\{(\d)\}/g, (_, i: string) => String(values[Number(i)] ?? ""));
  return current === "en" ? forYou(text) : text;
};

/** A number with given decimals, as the language writes it. */
export const decimal = (value: number, digits: number): string =>
  current === "vi" ? value.toFixed(digits).replace(".", ",") : value.toFixed(digits);
/** An estimate with its 95 % interval. "± 0.00" never stands there: an exact value is called so, other widths are rounded up. */
export const estimateText = (value: number, halfWidth: number | null | undefined): string =>
  halfWidth
    ? `${decimal(value, 2)} ± ${decimal(Math.ceil(100 * halfWidth) / 100, 2)}`
    : `${decimal(value, 2)} ${t("exact")}`;

const PLACES: Key[] = ["first", "second", "third", "fourth"];
export const placeText = (place: number): string => (PLACES[place] ? t(PLACES[place]) : t("nth", place + 1));
export const pointsText = (n: number): string => (n === 1 ? t("point") : t("points", n));
export const signed = (n: number): string => (n > 0 ? `+${n}` : n < 0 ? `−${-n}` : "0");
export const unitsText = (n: number): string => t(Math.abs(n) === 1 ? "unit" : "units", signed(n));
export const countText = (n: number): string => (n === 1 ? t("cardLeft") : t("cardsLeft", n));

const SUITS: Record<Language, Record<string, string>> = {
  en: { s: "spades", c: "clubs", d: "diamonds", h: "hearts" },
  vi: { s: "bích", c: "chuồn", d: "rô", h: "cơ" },
};
const RANKS: Record<Language, Record<string, string>> = {
  en: { T: "10", J: "jack", Q: "queen", K: "king", A: "ace", "*": "joker" },
  vi: { T: "10", "*": "phăng teo" }, // what a card shows: a name that is heard must contain it
};
/** A card as words, for screen readers. */
export function cardWords(card: string): string {
  const rank = RANKS[current][card[0]!] ?? card[0]!;
  const suit = SUITS[current][card[1]!] ?? card[1]!;
  return current === "en" ? (card[0] === "*" ? `${rank} ${suit}` : `${rank} of ${suit}`) : `${rank} ${suit}`;
}
export const cardsWords = (cards: string[]): string =>
  cards.length ? cards.map(cardWords).join(", ") : t("pass");

const SIGNS: Record<string, string> = { s: "♠", c: "♣", d: "♦", h: "♥" };
/** Cards as signs, such as "10♦ J♦"; each is one word, which no line breaks. */
export const cardsSigns = (cards: string[]): string =>
  cards
    .map((card) => `${card[0] === "T" ? "10" : card[0] === "*" ? "★" : card[0]}${SIGNS[card[1]!] ?? card[1]}`)
    .join(" ");

const KINDS = /^(suited )?(double sequence|triple sequence|quad sequence|single|pair|triple|quad|run) /;
/** The kind of a combination, from the engine's text of an action; empty for a pass or a word. */
export const kindOf = (action: string): string => KINDS.exec(action)?.[2] ?? "";

// What people in Vietnam call a number of pairs in a row, and a number of twos.
const PAIRS: Record<number, string> = {
  3: "ba đôi thông",
  4: "bốn đôi thông",
  5: "năm đôi thông",
  6: "sáu đôi thông",
};
const TWOS = ["heo", "đôi heo", "ba heo", "tứ quý heo"];
/**
 * The name of a combination in the reader's words.
 *
 * @param action the engine's text of the action, such as "pair 5h" or "suited run 3-5 top 5d"
 * @param cards its cards
 */
export function comboWords(action: string, cards: string[]): string {
  const found = KINDS.exec(action);
  if (!found) return "";
  let name = found[2] === "single" ? "" : t(found[2] as Key); // a single card is its own name
  if (current === "vi" && found[2] === "double sequence") name = PAIRS[cards.length / 2] ?? name;
  if (current === "vi" && cards.every((card) => card[0] === "2")) name = TWOS[cards.length - 1] ?? name;
  return found[1] ? t("suited", name) : name;
}

// In the order of `REASONS` in tienlen_env/games/tienlen/explain.py, whose English texts the engine brings along.
const REASONS_VI = [
  "ván đã kết thúc",
  "tới trắng thì không đánh lá nào",
  "phải báo tới trắng",
  "không có tới trắng",
  "bỏ lượt thì không đánh lá nào",
  "người ra bài không được bỏ lượt",
  "không có {cards} trên tay",
  "không phải các lá của nước này",
  "lượt đầu phải có {cards}",
  "lượt đầu chỉ đánh lẻ {cards}",
  "đã bỏ lượt thì nghỉ đến hết vòng",
  "hàng này không chặt được bài trên bàn",
  "hàng này không chặt được bài trên bàn",
  "hàng này không chặt được bài trên bàn",
  "phải chặn {kind} bằng đúng loại đó",
  "phải chặn {kind} {size} lá bằng đúng loại và số lá đó",
  "sảnh đồng chất phải chặn bằng sảnh đồng chất",
  "phải chặn {kind} theo đúng chất hoặc màu",
  "người kế còn một lá: đánh lẻ phải đánh lá lớn nhất",
  "lá cao nhất không lớn hơn bài trên bàn",
  "không phải một bộ theo luật này",
  "không phải một bộ theo luật này",
];
/**
 * Why cards are refused, in words, with the clause of the rules.
 *
 * @param why the engine's number of the reason
 * @param reasons its texts and clauses
 * @param action the engine's text of the action on the table
 */
export function refusalWords(
  why: number,
  reasons: readonly (readonly [string, string])[],
  action: string,
  table: string[],
  must: string,
): string {
  const found = reasons[why];
  if (!found) return t("notLegal");
  const text = (current === "vi" ? REASONS_VI[why] : undefined) ?? found[0];
  const values: Record<string, string> = {
    cards: cardsSigns(must ? must.split(" ") : []),
    size: String(table.length),
    kind: comboName(action) || (current === "vi" ? "lá lẻ" : "single"),
    bomb: "",
  };
  const filled = text.replace(/ ?\{(\w+)\}/g, (whole, name: string) =>
    values[name] ? (whole[0] === " " ? " " : "") + values[name] : "",
  );
  return `${filled[0]!.toUpperCase()}${filled.slice(1)} (${t("rules")} ${found[1]})`;
}
/** The name of a kind of combination without an article. */
const comboName = (action: string): string => {
  const kind = kindOf(action);
  return kind && kind !== "single" ? (current === "vi" ? t(kind as Key) : kind) : "";
};

/** A suit that the server or the engine names in English. */
export function suitWords(name: string): string {
  const suit = Object.keys(SUITS.en).find((letter) => SUITS.en[letter] === name);
  return (suit && SUITS[current][suit]) ?? name;
}

/** The name of rules or of a game, in the reader's words where the page has them. */
export const rulesWords = (name: string): string =>
  `rules_${name}` in en ? t(`rules_${name}` as Key) : name;
export const gameWords = (name: string): string => (`game_${name}` in en ? t(`game_${name}` as Key) : name);
/** The cause of a payment. */
export const causeWords = (cause: string): string => (cause in en ? t(cause as Key) : cause);
/** A play that is not cards: a word of the rules, or the ranks of a meld. */
export const namedPlay = (text: string): string =>
  text === "declare" || text === "end" ? t(text) : text.replaceAll("T", "10");

const AGENTS: Key[] = ["random", "greedy", "greedy_long", "trickster", "heuristic", "champion", "search"];
/** The name of an agent, in the reader's language where it is one of ours; others have their own, whatever it is. */
export const agentWords = (name: string): string => (AGENTS.includes(name as Key) ? t(name as Key) : name);
