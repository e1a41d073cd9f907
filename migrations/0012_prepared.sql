-- What a link to an acquirer wants to be durable before it is asked, so that any process can inquire about an order,
-- repeat it or reverse it. JSON of the link's own; empty where the link gets by without.
ALTER TABLE transaction ADD COLUMN prepared jsonb;
