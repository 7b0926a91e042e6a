export * from './local-redis.ts';
