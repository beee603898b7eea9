// Whoever searches for the standard term of the field must find the page about it, among the first five results of the site's search.
import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import MiniSearch from 'minisearch'
import { searchOptions } from './.vitepress/search.mjs'

const chunks = fileURLToPath(new URL('../../bin/docs/assets/chunks/', import.meta.url))

const wanted = {
  'install': '/install',
  'OLM bundle': '/bundles',
  'ClusterServiceVersion': '/bundles',
  'tutorial': '/tutorial',
  'reconcile': '/concepts',
  'requeue': '/concepts',
  'drift': '/runtime/children',
  'server-side apply': '/runtime/children',
  'owner reference': '/runtime/children',
  'garbage collection': '/runtime/children',
  'pruning': '/runtime/children',
  'kstatus': '/runtime/children',
  'stale cache': '/prove/faults',
  'read your writes': '/runtime/reads',
  'watch': '/runtime/reads',
  'memory': '/runtime/reads',
  'hot loop': '/runtime/storms',
  'rate limit': '/runtime/storms',
  'field conflict': '/runtime/storms',
  'finalizer': '/how-to/cleanup',
  'cleanup on deletion': '/how-to/cleanup',
  'external resource': '/runtime/external',
  'durable workflow': '/runtime/steps',
  'backup': '/runtime/actions',
  'leader election': '/runtime/shards',
  'sharding': '/runtime/shards',
  'admission webhook': '/runtime/webhooks',
  'serving certificate': '/runtime/webhooks',
  'conversion webhook': '/runtime/versions',
  'storage version migration': '/runtime/versions',
  'aggregated API server': '/runtime/apiserver',
  'dry run': '/runtime/hatches',
  'pause': '/runtime/hatches',
  'CRD': '/generate',
  'RBAC': '/generate',
  'permissions': '/generate',
  'helm chart': '/generate/outputs',
  'kustomize': '/generate/outputs',
  'kubebuilder': '/existing-projects',
  'operator sdk': '/existing-projects',
  'controller-runtime': '/from-a-reconciler',
  'fault injection': '/prove',
  'invariant': '/prove/properties',
  'test case': '/prove/plans',
  'lint': '/lint',
  'SBOM': '/build',
  'container image': '/build',
  'deploy': '/deploy',
  'local cluster': '/cluster',
  'simulated nodes': '/simulated-nodes',
  'container nodes': '/containers',
  'debug': '/how-to/debugging',
  'password': '/how-to/generated-passwords',
  'GitOps': '/how-to/gitops',
  'private registry': '/how-to/private-registries',
  'metrics': '/reference/metrics',
  'annotations': '/reference/annotations',
  'environment variables': '/reference/environment',
  'exit codes': '/reference/exit-codes',
  'troubleshooting': '/troubleshooting',
  'security model': '/security',
  'production checklist': '/production-checklist',
  'glossary': '/glossary',
}

// index loads the search index that the build left for browsers, with the options of the site's search.
async function index() {
  const file = readdirSync(chunks).find((name) => name.startsWith('@localSearchIndexroot'))
  assert.ok(file, `no search index in ${chunks}: build the site first`)
  const { default: json } = await import('data:text/javascript,' + encodeURIComponent(readFileSync(path.join(chunks, file), 'utf8')))
  return MiniSearch.loadJSON(json, {
    fields: ['title', 'titles', 'text'],
    storeFields: ['title', 'titles'],
    searchOptions,
  })
}

test('the search finds the page of each standard term', async () => {
  const pages = await index()
  const missed = []
  for (const [term, page] of Object.entries(wanted)) {
    const found = []
    for (const { id } of pages.search(term)) {
      const at = id.split('#')[0].replace(/\.html$/, '')
      if (!found.includes(at)) found.push(at)
    }
    if (!found.slice(0, 5).includes(page)) missed.push(`"${term}" finds ${found.slice(0, 5).join(', ')}, and not ${page}`)
  }
  assert.deepEqual(missed, [])
})
