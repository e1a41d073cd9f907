// Test or live; test is play money. A merchant, and a link to an acquirer, is one or the other.
export type Mode = 'test' | 'live';
