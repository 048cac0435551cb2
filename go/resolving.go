package trunkcall

// resolving is where a client's endpoints come from.
type resolving struct {
	client   *Client
	scheme   string
	resolver Resolver // nil: they stand in the target
	rest     string
}

// begin finds out what the target is, and takes the endpoints that stand in it.
func (r *resolving) begin(c *Client) error {
	r.client = c
	static, scheme, resolver, rest, err := parseTarget(c.target, c.options.resolvers)
	if err != nil {
		return err
	}
	r.scheme, r.resolver, r.rest = scheme, resolver, rest
	if static != nil {
		c.endpoints.apply(static)
	}
	return nil
}

// start has the resolver begin, once somebody wants to know.
func (r *resolving) start() {}

// unreached says that an endpoint could not be reached.
func (r *resolving) unreached() {}

// Watch is what a resolver works for.
type Watch struct {
	target string
	set    func([]Endpoint) error
	failed chan struct{}
}

// Target is what follows the scheme.
func (w *Watch) Target() string { return w.target }

// Set exchanges the whole set. The error says what is wrong with it; the last good set
// stays then. The slice is the client's from here on.
func (w *Watch) Set(endpoints []Endpoint) error { return w.set(endpoints) }

// Failed is received from after an endpoint could not be reached: a resolver that asks
// now and then may ask again at once.
func (w *Watch) Failed() <-chan struct{} { return w.failed }
