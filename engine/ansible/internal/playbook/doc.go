// Package playbook runs Ansible playbooks in forks of one Python process, which has imported Ansible and the Kubernetes client.
// The Python code is in the directory python: the process that forks, a callback plugin that reports tasks, and the modules of
// the collection operator_sdk.util, which roles of Operator SDK use.
package playbook
