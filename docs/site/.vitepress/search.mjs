// How the search of the site ranks pages. Pages that list everything, such as the help of all commands, come after those about one
// subject. The beginning of the page about the linter is not one of them, but its sections about single rules are.
export const searchOptions = {
  fuzzy: 0.1,
  prefix: true,
  boost: { title: 4, text: 2, titles: 1 },
  boostDocument: (id) => (/^\/(lint(\.html)?#(?!lint-an-operator)|reference\/commands\b)/.test(id) ? 0.3 : 1),
}
