// The documentation as a site. Its pages are the Markdown files of docs/, and its navigation is the index, docs/README.md.
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'
import { searchOptions } from './search.mjs'

const docs = fileURLToPath(new URL('../..', import.meta.url))
const repository = 'https://github.com/operon-framework/operon'

// sidebar reads the sections of the index and their links. A second link of a line is part of the first one's subject, and has an
// entry of its own.
function sidebar() {
  const sections = []
  for (const line of readFileSync(path.join(docs, 'README.md'), 'utf8').split('\n')) {
    if (line.startsWith('## ')) sections.push({ text: line.slice(3), items: [] })
    for (const [, text, target] of line.matchAll(/\[([^\]]+)\]\(([^)]+\.md)\)/g)) {
      if (!target.startsWith('..')) sections.at(-1).items.push({ text: text[0].toUpperCase() + text.slice(1), link: '/' + pageOf(target) })
    }
  }
  return sections
}

// pageOf is the path of the page of a file below docs/.
function pageOf(file) {
  return file.replace(/(^|\/)README\.md$/, '$1').replace(/\.md$/, '')
}

// isPage reports whether a file, relative to docs/, is part of the site. Superseded decisions are not: they would crowd searches.
function isPage(file) {
  return !file.startsWith('..') && !file.startsWith('decisions/archive')
}

// outside points links that leave docs/ to the repository: sources, examples, the changelog.
function outside(markdown) {
  markdown.core.ruler.push('links outside docs', ({ tokens, env }) => {
    for (const token of tokens.flatMap((t) => t.children ?? [])) {
      const href = token.type === 'link_open' && token.attrGet('href')
      if (!href || /^([a-z]+:|#|\/)/.test(href)) continue
      const [target, anchor = ''] = href.split('#')
      const file = path.resolve(path.dirname(env.path), target)
      if (isPage(path.relative(docs, file))) continue
      if (!existsSync(file)) throw new Error(`${env.relativePath}: the link ${href} leads to no file`)
      token.attrSet('href', `${repository}/blob/main/${path.relative(path.dirname(docs.replace(/\/$/, '')), file)}${anchor && '#' + anchor}`)
    }
  })
}

// literal keeps {{ and < of prose and code from being read as the site's template language.
function literal(markdown) {
  for (const rule of ['text', 'code_inline']) {
    const render = markdown.renderer.rules[rule]
    markdown.renderer.rules[rule] = (...args) => render(...args).replaceAll('{{', '&#123;&#123;')
  }
}

// The pages lie outside of the directory of the packages, where an import of theirs is not found.
const { resolve } = createRequire(import.meta.url)
const alias = [
  { find: /^vue\/server-renderer$/, replacement: resolve('vue/server-renderer') },
  { find: /^vue$/, replacement: path.join(path.dirname(resolve('vue/package.json')), 'dist/vue.runtime.esm-bundler.js') },
]

export default defineConfig({
  title: 'Operon',
  description: 'Write, test, ship and operate Kubernetes operators with one binary.',
  lang: 'en-US',
  srcDir: '..',
  srcExclude: ['decisions/archive/**', 'site/**'],
  outDir: '../../bin/docs',
  cacheDir: '../../bin/docs-cache',
  cleanUrls: true,
  vite: { resolve: { alias } },
  metaChunk: true,
  rewrites: (file) => file.replace(/(^|\/)README\.md$/, '$1index.md'),
  markdown: { html: false, config: (markdown) => [outside, literal].forEach((change) => change(markdown)) },
  themeConfig: {
    sidebar: sidebar(),
    outline: [2, 3],
    search: {
      provider: 'local',
      options: {
        _render: (source, env, markdown) => (env.relativePath.startsWith('decisions/') ? '' : markdown.render(source, env)), // users search for how
        miniSearch: { searchOptions },
      },
    },
    socialLinks: [{ icon: 'github', link: repository }],
    editLink: { pattern: repository + '/edit/main/docs/:path' },
  },
})
