package instance

import (
	"fmt"

	"k8s.io/client-go/tools/clientcmd"
)

// contextName is how a cluster, its user and its context are called in kubeconfigs.
func contextName(name string) string { return "operon-" + name }

// Merge adds a running cluster to the user's own kubeconfig and makes it the current
// context there. Down takes it out again. It returns the file's path.
func Merge(name string) (string, error) {
	facts, err := Status(name)
	if err != nil {
		return "", err
	}
	ours, err := clientcmd.LoadFromFile(facts.Kubeconfig)
	if err != nil {
		return "", err
	}
	access := clientcmd.NewDefaultPathOptions()
	theirs, err := access.GetStartingConfig()
	if err != nil {
		return "", fmt.Errorf("the kubeconfig %s was not changed: %w", access.GetDefaultFilename(), err)
	}
	entry := contextName(name)
	theirs.Clusters[entry], theirs.AuthInfos[entry] = ours.Clusters[entry], ours.AuthInfos[entry]
	theirs.Contexts[entry], theirs.CurrentContext = ours.Contexts[entry], entry
	if err := clientcmd.ModifyConfig(access, *theirs, false); err != nil {
		return "", err
	}
	facts.MergedInto = access.GetDefaultFilename()
	f, err := openFolder(name)
	if err != nil {
		return "", err
	}
	return facts.MergedInto, f.writeFacts(facts)
}

// unmerge takes a cluster out of the kubeconfig at path.
func unmerge(path, name string) error {
	config, err := clientcmd.LoadFromFile(path)
	if err != nil {
		return fmt.Errorf("remove cluster %q from the kubeconfig: %w", name, err)
	}
	entry := contextName(name)
	delete(config.Clusters, entry)
	delete(config.AuthInfos, entry)
	delete(config.Contexts, entry)
	if config.CurrentContext == entry {
		config.CurrentContext = ""
	}
	return clientcmd.WriteToFile(*config, path)
}
