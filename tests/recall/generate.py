"""Writes the retrieval set: a year of one group's chat, with questions whose evidence is known.

Everything comes from the templates below and a fixed seed, so that the files can be made again:
`python3 generate.py` writes turns.jsonl, facts.jsonl and questions.jsonl beside this file.
"""
import json
import pathlib
import random

random.seed(20_130)
HERE = pathlib.Path(__file__).parent
TURNS = 5_400
START = 1_704_096_000_000  # 2024-01-01 08:00 UTC, in milliseconds
PEOPLE = ("Anna Ben Carla Dmitri Elif Farid Greta Hugo Ines Jonas Katja Liam Mei Nadia Omar Paula "
          "Quentin Rosa Sven Tomas Uma Viktor Wendy Xin").split()
GERMANS = ["Greta", "Jonas", "Katja", "Sven"]
CHINESE = ["Mei", "Xin"]

# Each topic: what somebody asks before, what the person says ({a}, {b} are filled from the lists),
# a question that shares words with it, and one that shares none. {p} is the person.
TOPICS = [
    ("{p}, anything new at home?", ["We finally picked up our {a} from the shelter, he's called {b}.", "Our {a} {b} chewed through the sofa last night."],
     "What is the name of {p}'s {a}?", "Which pet lives with {p}?",
     ["beagle", "tabby", "greyhound", "parrot", "terrier", "ferret", "poodle"], ["Biscuit", "Moss", "Captain", "Pepper", "Waffle", "Olive", "Ziggy"]),
    ("Where did you end up?", ["Signed the lease for the flat on {a}, we get the keys in {b}.", "I'm packing boxes, the apartment on {a} is ours from {b}."],
     "On which street is {p}'s flat, {a} or another?", "To which address is {p} relocating?",
     ["Mill Lane", "Harbour Street", "Oak Avenue", "Station Road", "Castle Hill", "River Walk", "Baker Row"], ["March", "June", "October", "August", "April", "September", "May"]),
    ("How did the interview go?", ["They offered me the position as {a}, I start on the {b}.", "Got it! From the {b} I'm working there as {a}."],
     "When does {p} start as {a}?", "What is {p}'s new job?",
     ["a junior baker", "a lab technician", "a ferry pilot", "a court clerk", "a sound engineer", "a school nurse", "a crane operator"], ["3rd", "12th", "17th", "21st", "9th", "28th", "6th"]),
    ("What did the doctor say?", ["She says I must not eat {a} any more, not even a little. {b} weeks to begin with.", "Turns out {a} makes me ill, so none of that for {b} weeks."],
     "For how many weeks must {p} avoid {a}?", "Which food is {p} allergic to?",
     ["peanuts", "shellfish", "strawberries", "gluten", "walnuts", "eggs", "soy"], ["six", "eight", "ten", "four", "twelve", "five", "nine"]),
    ("Is the bike fixed?", ["The mechanic wants {b} euros for the {a}, I nearly fainted.", "New {a} for my bike: {b} euros, daylight robbery."],
     "How many euros does {p}'s {a} cost?", "How expensive was {p}'s cycle repair?",
     ["gearbox", "rear wheel", "brake cable", "saddle", "chain", "fork", "dynamo"], ["140", "85", "230", "64", "310", "175", "98"]),
    ("Any plans for the summer?", ["We booked two weeks in {a}, flying out on {b}.", "It's settled: {a}, and our plane leaves on {b}."],
     "When does {p} fly to {a}?", "Where is {p} going on holiday?",
     ["Crete", "Iceland", "Madeira", "Lapland", "Sardinia", "Tunisia", "Malta"], ["July 4", "July 19", "August 2", "June 27", "August 14", "July 30", "June 11"]),
    ("How is the band?", ["I've switched from guitar to {a}, we play at the {b} next month.", "Our {a} player quit, so I do it now. First gig: the {b}."],
     "At which place does {p}'s band play with {p} on {a}, the {b}?", "Which instrument did {p} take up?",
     ["cello", "trombone", "accordion", "drums", "banjo", "clarinet", "bass"], ["Blue Door", "Old Depot", "Lantern", "Cellar", "Anchor", "Foundry", "Orchard"]),
    ("Did you read it?", ["I gave up on the {a} novel after {b} pages, nothing happens.", "Page {b} of that {a} novel and still no plot. I quit."],
     "After how many pages did {p} give up on the {a} novel?", "Which book did {p} abandon?",
     ["lighthouse", "submarine", "vineyard", "glacier", "clockmaker", "orphanage", "beekeeper"], ["80", "120", "45", "210", "150", "60", "95"]),
    ("What's for dinner at yours?", ["I'm making {a} with {b}, my grandmother's way.", "There's a big pot of {a} on the stove, {b} inside. Come over!"],
     "What does {p} put into the {a}?", "Which dish was {p} cooking?",
     ["goulash", "risotto", "tagine", "chowder", "paella", "dal", "ramen"], ["saffron", "fennel", "prunes", "smoked paprika", "leeks", "chestnuts", "ginger"]),
    ("How is your mum?", ["She fell on the stairs and broke her {a}, she's in {b} hospital.", "Mum's {a} is broken. I'm sitting with her at {b} hospital."],
     "In which hospital is {p}'s mum with the broken {a}?", "How was {p}'s mother injured?",
     ["wrist", "hip", "ankle", "collarbone", "elbow", "knee", "thumb"], ["Saint Luke", "Northgate", "Riverside", "Saint Anne", "Westfield", "Elmwood", "Queens"]),
    ("Who wins on Saturday?", ["My money is on the {a}, {b} at least.", "The {a}, easily. I say {b}."],
     "Which score does {p} expect for the {a}?", "Which team does {p} support?",
     ["Falcons", "Otters", "Comets", "Rovers", "Herons", "Miners", "Pilots"], ["3:1", "2:0", "4:2", "5:3", "1:0", "6:1", "3:2"]),
    ("Did you get the thing repaired?", ["The {a} is dead for good, I ordered another for {b} euros.", "No luck, the {a} can't be saved. The replacement costs {b}."],
     "What did {p} pay for another {a}?", "Which household appliance of {p} broke down?",
     ["dishwasher", "freezer", "toaster", "kettle", "washing machine", "vacuum", "oven"], ["420", "389", "35", "27", "515", "160", "640"]),
    ("How's the little one?", ["{b} said her first word yesterday: {a}!", "You won't believe it, {b} can say {a} now."],
     "Who said {a} as a first word at {p}'s home, {b}?", "What did {p}'s baby utter first?",
     ["ball", "moon", "duck", "shoe", "water", "bread", "light"], ["Lotte", "Iris", "Nora", "Juna", "Elin", "Tilda", "Maja"]),
    ("Still running?", ["I signed up for the {a} marathon, aiming for {b}.", "Training for {a} now. If I finish under {b} I'll cry."],
     "Which time does {p} want at the {a} marathon?", "Which race is {p} preparing for?",
     ["Bergen", "Lisbon", "Valencia", "Dublin", "Riga", "Seville", "Utrecht"], ["3:45", "4:10", "3:59", "4:30", "3:20", "4:50", "3:35"]),
    ("Why so quiet today?", ["Lost my {a} on the {b} tram, everything was in it.", "My {a} is gone, I must have left it on tram {b}."],
     "On which tram did {p} leave the {a}?", "What belonging did {p} misplace on public transport?",
     ["wallet", "rucksack", "laptop bag", "umbrella", "violin case", "suitcase", "purse"], ["12", "7", "31", "4", "19", "26", "15"]),
    ("Garden report?", ["The {a} are finally coming up, {b} rows of them.", "Snails ate all the {a}. {b} rows, gone overnight."],
     "How many rows of {a} does {p} have?", "What does {p} grow outdoors?",
     ["radishes", "beans", "tulips", "carrots", "pumpkins", "peas", "onions"], ["three", "seven", "five", "eleven", "two", "nine", "thirteen"]),
    ("What are you studying now?", ["I enrolled in {a}, every {b} evening.", "Evening school! {a}, on {b}."],
     "On which day does {p} have {a}?", "Which course does {p} attend?",
     ["welding", "astronomy", "bookkeeping", "calligraphy", "sign language", "pottery", "Latin"], ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Sunday", "Saturday"]),
    ("So, are you two...?", ["We're getting married in {b}, in the {a}!", "Yes! The wedding is in {b}, we rented the {a}."],
     "In which month is {p}'s wedding in the {a}?", "When will {p} become someone's spouse?",
     ["boathouse", "old windmill", "botanical garden", "town library", "barn", "castle chapel", "tea house"], ["May", "November", "February", "July", "December", "January", "October"]),
    ("Did the car pass inspection?", ["No. The {a} are rusted through, {b} for the lot.", "Failed because of the {a}. They'd charge {b}."],
     "What would it cost {p} to replace the {a}, {b}?", "Why was {p}'s vehicle rejected?",
     ["brake lines", "sills", "shock absorbers", "exhaust pipes", "headlights", "tyres", "wishbones"], ["900", "1250", "760", "480", "330", "1100", "590"]),
    ("What was the present?", ["My sister gave me a {a}, {b} pieces, I'm in heaven.", "A {a}! {b} pieces. Best birthday ever."],
     "How many pieces has {p}'s {a}?", "What did {p} receive from a sibling?",
     ["model ship", "puzzle of a lighthouse", "tool set", "tea service", "chess set", "train set", "telescope kit"], ["1500", "2000", "64", "18", "32", "240", "75"]),
    ("Can't sleep again?", ["The neighbours' {a} starts at {b} every single morning.", "It's that {a} next door. {b} sharp, each day."],
     "At what time does the {a} next to {p} start?", "What noise disturbs {p}?",
     ["rooster", "leaf blower", "drum machine", "hammer drill", "alarm clock", "coffee grinder", "motorbike"], ["4:50", "6:15", "5:30", "6:45", "5:05", "4:20", "5:55"]),
    ("How was the exam?", ["I got {b} points in {a}, just enough.", "{a}: {b} points! I passed!"],
     "How many points did {p} get in {a}?", "Which test did {p} survive?",
     ["statistics", "anatomy", "contract law", "organic chemistry", "topology", "phonetics", "thermodynamics"], ["61", "74", "88", "53", "92", "67", "79"]),
    ("Who is coming on Sunday?", ["My cousin {b} from {a}, she stays until Thursday.", "{b} is visiting, my cousin. All the way from {a}."],
     "From where does {p}'s cousin {b} come?", "Which relative will be {p}'s guest?",
     ["Winnipeg", "Adelaide", "Nairobi", "Santiago", "Osaka", "Tbilisi", "Cork"], ["Marlene", "Sofia", "Agnes", "Ruth", "Helga", "Bianca", "Yvonne"]),
    ("What about the money?", ["I still owe {b} for the {a}, I'll bring it on payday.", "Right, the {a}. You get your {b} from me on payday."],
     "What does {p} owe for the {a}, {b}?", "Which debt has {p} promised to settle?",
     ["concert tickets", "boat rental", "pizza round", "camping stove", "taxi ride", "ski passes", "group photo"], ["45 euros", "120 euros", "18 euros", "70 euros", "33 euros", "210 euros", "9 euros"]),
    ("How do you get to work now?", ["I take the {a} now, {b} minutes door to door.", "By {a}, {b} minutes if I'm lucky."],
     "How many minutes does {p} take by {a}?", "What is {p}'s means of commuting?",
     ["ferry", "scooter", "night bus", "cable car", "folding bike", "metro", "carpool"], ["25", "40", "55", "15", "70", "35", "50"]),
    ("You look tanned!", ["We went {a} near {b} the whole week.", "That's from {a}, seven days around {b}."],
     "Near which place did {p} go {a}?", "Which outdoor sport did {p} practise?",
     ["kayaking", "climbing", "sailing", "hiking", "surfing", "paragliding", "canoeing"], ["Split", "Chamonix", "Kiel", "Davos", "Biarritz", "Annecy", "Bled"]),
    ("Is it serious?", ["The dentist pulled {a}, I can only eat {b}.", "{a} had to come out. Living on {b} now."],
     "What can {p} eat after {a} came out?", "What dental trouble did {p} have?",
     ["a molar", "two wisdom teeth", "a canine", "my last milk tooth", "a crown", "an incisor", "three roots"], ["porridge", "soup", "yoghurt", "mashed potatoes", "custard", "apple sauce", "smoothies"]),
    ("Any luck with the landlord?", ["He raises the rent to {b} because of the {a}.", "From next month it's {b}. He blames the {a}."],
     "Why is {p}'s rent raised, the {a}?", "How much will {p} have to pay for housing each month?",
     ["new lift", "roof repairs", "heating oil", "insulation", "courtyard", "fibre cable", "boiler"], ["870", "1040", "995", "1215", "760", "1130", "920"]),
    ("What happened to your hand?", ["I burnt it on the {a}, {b} stitches no less.", "An argument with the {a}. {b} stitches."],
     "How many stitches did {p} get because of the {a}?", "What caused {p}'s wound?",
     ["camping stove", "bread knife", "circular saw", "garden fence", "sewing machine", "tin lid", "ice skate"], ["three", "five", "seven", "four", "nine", "two", "six"]),
    ("Film tonight?", ["I've seen {a} already, {b} out of ten.", "Not {a}, please. I gave it {b} out of ten."],
     "How many out of ten did {p} give {a}?", "Which movie did {p} not want to watch twice?",
     ["The Salt Road", "Nine Bells", "Winter Orchard", "Paper Tigers", "The Last Ferry", "Copper Sky", "Quiet Engines"], ["four", "six", "three", "seven", "two", "five", "eight"]),
    ("How did it end with the wifi?", ["They send a technician on {a}, between {b}.", "Somebody comes on {a}, {b}, they say."],
     "Between which hours on {a} does {p}'s technician come?", "When will {p}'s internet connection be looked at?",
     ["the 14th", "the 2nd", "the 23rd", "the 8th", "the 30th", "the 19th", "the 11th"], ["eight and ten", "noon and two", "nine and eleven", "four and six", "one and three", "seven and nine", "two and five"]),
    ("Do you still collect them?", ["I have {b} {a} by now, the cellar is full.", "{b} {a} and counting. My partner hates it."],
     "How many {a} does {p} have?", "What is {p}'s collection about?",
     ["beer mats", "typewriters", "postcards", "radios", "door knobs", "snow globes", "maps"], ["412", "37", "1800", "54", "129", "86", "263"]),
    ("When do we leave tomorrow?", ["{a}, at the {b}.", "Be there at {a}. The {b}, as always."],
     "Where do we meet {p} at {a}?", "What departure did {p} announce?",
     ["6:40", "7:15", "5:50", "8:05", "6:10", "9:20", "7:45"], ["fountain", "petrol station", "bus stop", "church", "bakery", "kiosk", "bridge"]),
    ("Who has the spare key?", ["{a}, since {b}.", "I gave it to {a}. That was {b}."],
     "Since when has {a} had {p}'s spare key?", "Who can let us into {p}'s place?",
     ["the caretaker", "my aunt Dora", "the florist downstairs", "my colleague Piet", "Mrs Lund", "the barber", "our old teacher"], ["Easter", "Christmas", "last spring", "New Year", "the flood", "the strike", "the summer party"]),
    ("How's the diet?", ["{b} kilos less, no {a} since January.", "I cut out {a}. {b} kilos down."],
     "How many kilos did {p} lose without {a}?", "How much weight did {p} shed?",
     ["sugar", "beer", "white bread", "crisps", "chocolate", "cheese", "soda"], ["four", "eleven", "seven", "nine", "three", "six", "thirteen"]),
]
GERMAN = [
    ("Und, was macht die Arbeit?", ["Ich wechsle im {b} in die {a}, endlich raus aus dem Schichtdienst."], "Wann wechselt {p} in die {a}?",
     ["Buchhaltung", "Gärtnerei", "Werkstatt", "Bibliothek"], ["Februar", "Mai", "August", "November"]),
    ("Habt ihr schon gebucht?", ["Wir fahren mit dem Zug nach {a}, {b} Stunden Fahrt."], "Wie viele Stunden fährt {p} nach {a}?",
     ["Rostock", "Meran", "Passau", "Basel"], ["sieben", "elf", "fünf", "neun"]),
    ("Wie geht es der Katze?", ["Die Tierärztin hat ihr {a} verschrieben, zweimal am Tag, {b} Tage lang."], "Was hat die Tierärztin der Katze von {p} verschrieben?",
     ["Augentropfen", "Hustensaft", "Salbe", "Vitaminpaste"], ["zehn", "vierzehn", "sechs", "zwanzig"]),
    ("Was schenkst du deinem Vater?", ["Einen {a}, hat {b} Euro gekostet."], "Was hat der {a} von {p} gekostet?",
     ["Werkzeugkasten", "Liegestuhl", "Regenmantel", "Wanderrucksack"], ["89", "135", "62", "148"]),
    ("Wer kommt zum Grillen?", ["Meine Nachbarin {b} bringt {a} mit."], "Wer bringt {a} zu {p} mit?",
     ["Kartoffelsalat", "Maiskolben", "Apfelkuchen", "Bratwürste"], ["Hildegard", "Roswitha", "Friederike", "Mechthild"]),
    ("Ist die Wohnung fertig?", ["Die {a} sind gestrichen, in {b} Wochen ziehen wir ein."], "In wie vielen Wochen zieht {p} ein, wenn die {a} gestrichen sind?",
     ["Wände", "Fensterrahmen", "Türen", "Treppengeländer"], ["drei", "vier", "zwei", "acht"]),
]
MANDARIN = [
    ("周末去哪儿了？", ["我们去{a}爬山了，走了{b}个小时。"], "{p}去{a}爬山走了几个小时？", ["泰山", "黄山", "香山"], ["五", "七", "三"]),
    ("新工作怎么样？", ["我现在在{a}上班，月薪{b}。"], "{p}现在在哪里上班？", ["电视台", "图书馆", "自行车厂"], ["八千", "九千", "一万二"]),
    ("孩子学什么呢？", ["女儿开始学{a}了，每周{b}上课。"], "{p}的女儿每周几上{a}课？", ["钢琴", "围棋", "书法"], ["二", "四", "六"]),
    ("晚饭吃什么？", ["我做了{a}，放了很多{b}。"], "{p}做的{a}里放了什么？", ["红烧鱼", "麻婆豆腐", "番茄牛腩"], ["生姜", "花椒", "八角"]),
    ("票买到了吗？", ["买到了，{a}号的火车，{b}出发。"], "{p}的火车{a}号几点出发？", ["十二", "二十三", "三十"], ["早上六点", "下午两点", "晚上九点"]),
    ("你妈妈好点了吗？", ["医生说她的{a}要休息{b}。"], "医生说{p}妈妈的{a}要休息多久？", ["膝盖", "肩膀", "手腕"], ["两个星期", "一个月", "十天"]),
]

# What people say about somebody else: the speaker, {o}, is not whom the question names.
ABOUT = [
    (["I met {p}'s landlord, he wants the rent in {a} from {b} on.", "{p}'s landlord takes nothing but {a} since {b}, he told me."],
     "What does {p}'s landlord want from {b} on, {a}?", "How must {p} pay for the flat?",
     ["cash", "stamps", "gold coins", "cheques"], ["Monday", "March", "tomorrow", "Easter"]),
    (["{p}'s parcel is at the {a} on {b}, I saw the note.", "The courier left {p}'s parcel in the {a} on {b}."],
     "On which street is the {a} with {p}'s parcel?", "Where can {p} collect the package?",
     ["kiosk", "flower shop", "hardware store", "pharmacy"], ["Birch Lane", "Mason Street", "Tower Road", "Abbey Row"]),
    (["{p}'s exam was moved to the {a}, room {b}.", "They put off {p}'s exam until the {a}, it's in room {b} now."],
     "In which room is {p}'s exam on the {a}?", "When does {p} have to sit the test?",
     ["9th of December", "4th of May", "22nd of June", "13th of October"], ["114", "207", "38", "5B"]),
    (["{p}'s bicycle is in my {a}, the {b} is jammed.", "I'm keeping {p}'s bicycle in the {a} until someone frees the {b}."],
     "What is jammed on {p}'s bicycle in the {a}?", "Where has {p}'s two-wheeler been put?",
     ["shed", "garage", "basement", "hallway"], ["lock", "front brake", "bell", "kickstand"]),
    (["{p}'s mother called, she lands at {b} in {a}.", "Just heard from {p}'s mother: she is flying to {a}, landing {b}."],
     "At what time does {p}'s mother land in {a}?", "To which airport does {p}'s mum come?",
     ["Zaventem", "Schiphol", "Gatwick", "Fiumicino"], ["17:20", "6:50", "21:15", "11:40"]),
    (["{p}'s puppy ate half a {a} at my place, {b} it cost.", "Bill for {p}'s puppy: one chewed {a}, {b} please."],
     "What did {p}'s puppy do to the {a}, for {b}?", "What damage did {p}'s young dog cause?",
     ["sofa cushion", "bath mat", "straw hat", "sheepskin rug"], ["40 euros", "25 euros", "60 euros", "95 euros"]),
    (["The surgeon said {p} may {a} again from {b}.", "From {b} {p} may {a} again, says the surgeon."],
     "From when may {p} {a} again, {b}?", "Which activity did the hospital allow {p}?",
     ["swim", "ski", "dance", "row"], ["January", "Whitsun", "next week", "November"]),
    (["{p}'s laptop is ready at the shop, they replaced the {a} for {b}.", "I collected {p}'s laptop. New {a}, {b} to pay."],
     "Which part of {p}'s laptop was replaced, the {a}?", "What was wrong with {p}'s computer?",
     ["battery", "hinge", "keyboard", "fan"], ["85 euros", "120 euros", "49 euros", "160 euros"]),
    (["The garage says {p}'s car needs a new {a}, {b} at least.", "{p}'s car won't pass without another {a}. {b}, poor thing."],
     "How much is the {a} that {p}'s car needs?", "What must be fixed on {p}'s vehicle?",
     ["clutch", "radiator", "gear lever", "windscreen"], ["640", "310", "880", "1020"]),
    (["I put {p}'s passport into the {a} under the {b}.", "If anyone asks, {p}'s passport is in the {a} below the {b}."],
     "Under what is the {a} with {p}'s passport?", "Where are {p}'s travel papers?",
     ["drawer", "biscuit tin", "shoebox", "folder"], ["printer", "stairs", "aquarium", "wardrobe"]),
]

# What else people say: pieces that are put together, so that hardly a sentence comes twice.
OPEN = ["honestly", "by the way", "ok so", "haha", "hm", "guess what", "not gonna lie", "well", "hey all", "quick one", "sorry, late", "wow", "meh", "no idea but", "fun fact", "update"]
WHO = ["my boss", "the neighbour", "my flatmate", "the bus driver", "that guy from the gym", "my uncle", "our postman", "the new intern", "my niece", "the plumber", "her brother", "the whole office", "some tourist", "my old teacher", "the band", "the doctor", "our landlord", "the mechanic"]
DID = ["forgot", "broke", "sold", "borrowed", "painted", "dropped", "found", "bought", "complained about", "fell in love with", "took a photo of", "argued about", "sat on", "hid", "fixed", "wrote a song about", "tripped over", "wants to rent"]
WHAT = ["the kettle", "a suitcase", "my umbrella", "the garden chair", "an old guitar", "three pumpkins", "the office printer", "a wedding cake", "somebody's scooter", "the church bell", "a box of postcards", "the wrong key", "his own birthday", "a broken lamp", "the bike pump", "a ferry ticket", "the rent money", "a bag of onions", "the cat", "a terrible novel"]
WHEN = ["this morning", "last night", "on the way home", "during lunch", "in the rain", "before the meeting", "yesterday", "on the tram", "at the party", "right after the match", "in the middle of the exam", "while I was cooking", "on holiday", "at the dentist", "again"]
VIEW = ["typical", "I can't even", "so that was my day", "what would you do?", "please don't ask", "I need coffee", "and nobody noticed", "I laughed for an hour", "never again", "best day of the week", "true story", "I have pictures", "it cost a fortune", "the kids loved it", "10/10 would watch again", "now I'm hungry"]
SHORT = ["haha", "lol", "oh no", "nice!", "same here", "really?", "good luck!", "take care", "love it", "no way", "ok", "sounds great", "I'm in", "congrats!", "poor you", "see you there", "thanks!", "hm, not sure", "what a story", "me too", "get well soon", "wow, well done", "count me out", "that's a lot"]
ASKS = ["{o}, are you coming on {d}?", "did anybody talk to {o} lately?", "{o} was right about the weather", "happy birthday {o}!", "can someone remind {o} about {d}?", "{o}, your photo from {d} is great", "where is {o} when you need him", "who said {o} can't dance", "thanks {o}, that helped a lot", "{o}: check your mail please", "is {o} still in town?", "I met {o} on {d} by chance"]
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
TALK = ["the traffic on {s} is a nightmare today", "has anyone tried the new {f} place on {s}?", "they are digging up {s} again, {n} weeks this time", "{n} degrees and I'm wearing a jacket, this town", "the {f} at the market was {n} euros, are they serious", "I slept {n} hours and feel like a brick", "my train is {n} minutes late, what else is new", "anyone need {n} kilos of {f}? my tree exploded", "watching the snow on {s}, it's lovely", "power is out on {s}, candles it is", "the library on {s} closes at {n} now", "found a {f} recipe on page {n}, trying it tonight"]
STREETS = ["Mill Lane", "Elm Street", "the ring road", "Harbour Street", "Park Row", "Station Road", "the old bridge", "Church Square", "Canal Street"]
FOODS = ["apple", "cherry", "noodle", "plum", "pancake", "potato", "fish", "waffle", "pear", "curry", "mushroom"]
DEUTSCH = ["Ich bin noch im Büro, wartet nicht auf mich", "Heute regnet es schon den ganzen Tag", "Wer hat eigentlich den Schlüssel vom Keller?", "Die Bahn hat mal wieder Verspätung", "Am Sonntag gibt es Kuchen bei uns", "Ich habe keine Lust mehr auf Winter", "Kann mir jemand beim Umzug helfen?", "Das Konzert gestern war großartig", "Der Kaffee hier ist furchtbar", "Mein Fahrrad steht noch bei dir"]
ZHONGWEN = ["今天天气真好", "我还在公司加班", "地铁又晚点了", "明天大家有空吗", "这个咖啡太苦了", "周末一起吃饭吧", "我的手机没电了", "外面下雨了，记得带伞", "生日快乐！", "哈哈，太好笑了"]


def small(rng):
    """A turn that is evidence of nothing."""
    kind = rng.random()
    if kind < 0.16:
        return rng.choice(SHORT)
    if kind < 0.32:
        return rng.choice(ASKS).format(o=rng.choice(PEOPLE), d=rng.choice(DAYS))
    if kind < 0.52:
        return rng.choice(TALK).format(s=rng.choice(STREETS), f=rng.choice(FOODS), n=rng.randint(2, 30))
    text = f"{rng.choice(WHO)} {rng.choice(DID)} {rng.choice(WHAT)} {rng.choice(WHEN)}"
    if rng.random() < 0.5:
        text = f"{rng.choice(OPEN)}, {text}"
    return f"{text}, {rng.choice(VIEW)}" if rng.random() < 0.6 else text


def events(rng):
    """Talks with evidence: (person, asked before, said, question, kind)."""
    out = []
    for n, (before, said, near, far, first, second) in enumerate(TOPICS):
        people = [p for p in PEOPLE if p not in CHINESE]
        rng.shuffle(people)
        order = list(range(len(first)))
        rng.shuffle(order)
        for m, (a, b) in enumerate(zip(first, (second[i] for i in order))):
            person = people[m]
            fill = {"a": a, "b": b, "p": person}
            far_off = (n + m) % 2 == 0
            question = (far if far_off else near).format(**fill)
            out.append((person, before.format(**fill), said[m % len(said)].format(**fill), question,
                        "paraphrase" if far_off else "words"))
    for before, said, ask, first, second in GERMAN:
        for m, (a, b) in enumerate(zip(first, second)):
            fill = {"a": a, "b": b, "p": GERMANS[m % len(GERMANS)]}
            out.append((fill["p"], before, said[0].format(**fill), ask.format(**fill), "german"))
    for before, said, ask, first, second in MANDARIN:
        for m, (a, b) in enumerate(zip(first, second)):
            fill = {"a": a, "b": b, "p": CHINESE[m % len(CHINESE)]}
            out.append((fill["p"], before, said[0].format(**fill), ask.format(**fill), "chinese"))
    rng.shuffle(out)
    return out


def hearsay(rng):
    """What one person says about another: (speaker, said, whom it is about, question, kind)."""
    out = []
    for n, (said, near, far, first, second) in enumerate(ABOUT):
        people = [p for p in PEOPLE if p not in CHINESE]
        rng.shuffle(people)
        for m, (a, b) in enumerate(zip(first, second)):
            fill = {"a": a, "b": b, "p": people[m], "o": people[m + 4]}
            far_off = (n + m // 2) % 2 == 0
            out.append((fill["o"], said[m % 2].format(**fill), fill["p"], (far if far_off else near).format(**fill),
                        "about in other words" if far_off else "about"))
    rng.shuffle(out)
    return out


# Facts as a model would note them, and questions about them. {x} is the value.
FACTS = [
    ("{p} lives in {x}.", "Where does {p} live?", ["Ghent", "Lyon", "Porto", "Graz", "Malmö", "Turin", "Leeds", "Gdansk", "Brno", "Split", "Cork", "Basel"]),
    ("{p} works as {x}.", "What does {p} do for a living?", ["a baker", "a nurse", "a tram driver", "a notary", "a beekeeper", "a welder", "a translator", "a surveyor", "a cellist", "a pharmacist", "a carpenter", "a diver"]),
    ("{p}'s birthday is on {x}.", "When is {p}'s birthday?", ["March 3", "May 21", "July 9", "January 30", "October 12", "August 4", "June 17", "April 25", "December 6", "February 14", "September 8", "November 27"]),
    ("{p} is allergic to {x}.", "What is {p} allergic to?", ["peanuts", "pollen", "cats", "penicillin", "shellfish", "dust", "wasps", "latex", "nickel", "mould", "eggs", "soy"]),
    ("{p} has a {x}.", "Which pet does {p} have?", ["dog called Rex", "cat called Minka", "tortoise called Otto", "parrot called Paco", "rabbit called Flocke", "hamster called Nils", "snake called Ssam", "goldfish called Bubble", "pony called Lasse", "ferret called Fitz", "canary called Kiwi", "gecko called Gus"]),
    ("{p} is learning {x}.", "Which language is {p} learning?", ["Finnish", "Swahili", "Dutch", "Korean", "Greek", "Welsh", "Arabic", "Hungarian", "Polish", "Basque", "Hindi", "Danish"]),
    ("{p} prefers to be called {x}.", "What should I call {p}?", ["Captain", "Doc", "Sunny", "Ace", "Boss", "Kit", "Red", "Chief", "Buddy", "Max", "Jay", "Tiny"]),
    ("{p}'s favourite dish is {x}.", "What does {p} like to eat most?", ["lasagne", "pad thai", "dumplings", "couscous", "fish pie", "bibimbap", "tacos", "moussaka", "borscht", "sushi", "gnocchi", "falafel"]),
    ("{p} is married to {x}.", "Who is {p}'s spouse?", ["Helene", "Marco", "Ingrid", "Pavel", "Yuki", "Samir", "Lotta", "Andre", "Birgit", "Kofi", "Nele", "Ruben"]),
    ("{p} drives a {x}.", "Which car does {p} drive?", ["red pickup", "blue van", "yellow beetle", "grey hatchback", "green jeep", "black taxi", "white camper", "silver coupe", "old tractor", "orange minibus", "brown estate", "purple cabriolet"]),
]


def main():
    rng = random.Random(7)
    turns, questions = [], []
    now = START
    talks = events(rng)
    # Small talk between the talks, spread over the year.
    quiet = (TURNS - sum(4 for _ in talks)) // (len(talks) + 1)
    last = None

    def say(who, text):
        nonlocal now, last
        now += rng.randint(20, 400) * 1_000
        turns.append({"id": len(turns), "at": now, "who": who, "text": text})
        last = who
        return len(turns) - 1

    def chat(count):
        nonlocal now
        for _ in range(count):
            now += rng.choice([0, 0, 0, 3, 9]) * 600_000
            who = rng.choice([p for p in PEOPLE if p != last])
            if who in GERMANS and rng.random() < 0.25:
                say(who, rng.choice(DEUTSCH))
            elif who in CHINESE and rng.random() < 0.7:
                say(who, rng.choice(ZHONGWEN))
            else:
                say(who, small(rng))

    for person, before, said, question, kind in talks:
        chat(quiet + rng.randint(-3, 3))
        other = rng.choice([p for p in PEOPLE if p != person])
        say(other, before)
        evidence = say(person, said)
        say(other, rng.choice(SHORT))
        say(rng.choice(PEOPLE), small(rng))
        questions.append({"question": question, "evidence": [evidence], "kind": kind, "names": [person]})
    chat(max(0, TURNS - len(turns)))

    facts = []
    for text, ask, values in FACTS:
        people = PEOPLE[:]
        rng.shuffle(people)
        for person, value in zip(people, values):
            facts.append({"id": len(facts), "about": person, "text": text.format(p=person, x=value)})
            questions.append({"question": ask.format(p=person), "evidence": [len(facts) - 1], "kind": "fact", "names": [person]})
    # After the rest, which stays as it was before there were such questions.
    rng = random.Random(11)
    for speaker, said, person, question, kind in hearsay(rng):
        chat(3)
        evidence = say(speaker, said)
        say(rng.choice(PEOPLE), small(rng))
        questions.append({"question": question, "evidence": [evidence], "kind": kind, "names": [person]})
    for name, rows in (("turns", turns), ("facts", facts), ("questions", questions)):
        with open(HERE / f"{name}.jsonl", "w", encoding="utf-8") as out:
            for row in rows:
                out.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")
    print(len(turns), "turns", len(facts), "facts", len(questions), "questions")


main()
