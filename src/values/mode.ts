// Test or live. Test is play money. Merchants and links to acquirers are one or the other.
export type Mode = 'test' | 'live';
